/** What people write in a condition who know another language, and what is written here in its place (G6). */

const quoted = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g;

const slips: readonly (readonly [RegExp, hint: string])[] = [
  [/\$\{/, 'Write names as they are, without ${ and }.'],
  [/!==|<>/, 'Compare with !=.'],
  [/===/, 'Compare with ==.'],
  [/(?<![=!<>])=(?!=)/, 'Compare with ==.'],
  [/\band\b/i, 'Write && for and.'],
  [/\bor\b/i, 'Write || for or.'],
  [/\bis\s+not\b/i, 'Compare with !=.'],
  [/\bis\b/i, 'Compare with ==.'],
  [/\bnot\s+in\b/i, 'Write !(VALUE in LIST).'],
  [/\bnot\b/i, 'Write ! for not.'],
  [/(?<!&)&(?!&)/, 'Write && for and.'],
  [/(?<!\|)\|(?!\|)/, 'Write || for or.'],
  [/\b(None|nil|undefined|NULL)\b/, 'Write null.'],
  [/\b(True|TRUE|False|FALSE)\b/, 'Write true and false.'],
];

/**
 * A hint for a condition that cannot be read; undefined if nothing in it is known from elsewhere.
 * @param reason - what the language says
 * @param names - the variables that the condition may read
 */
export function slipHint(text: string, reason: string, names: readonly string[]): string | undefined {
  const bare = text.replaceAll(quoted, '""');
  const slip = slips.find(([pattern]) => pattern.test(bare))?.[1];
  if (slip !== undefined || !reason.startsWith('Unknown variable')) return slip;
  return `There are ${names.join(', ')}; a key of the scratch state is written scratch.KEY.`;
}
