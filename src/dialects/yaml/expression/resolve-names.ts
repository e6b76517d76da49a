/** Finds the inputs, blocks and secrets that an expression names, and checks that they exist (T3). */
import type { ExpressionReference, PathStep } from '../../../graph/expression/expression-references.ts';
import { nearest } from '../../../graph/nearest.ts';
import { unstoredPart } from '../../../state/secrecy/store-rules.ts';
import { metadataOfBlock, standingFields } from './block-fields.ts';
import { variablePrefix } from './rewrite-expression.ts';
import type { Named, Names, TextFault } from './template.ts';

/** Fields of `metadata`. */
const metadataFields: readonly string[] = ['workflow_name', 'run_id', 'started_at', 'tmp'];
const eachFields: readonly string[] = ['key', 'value', 'index', 'count'];
export const namespaces: readonly string[] = ['inputs', 'blocks', 'metadata', 'each', 'secrets'];

/** Collects the names that texts use. */
export interface Mentions {
  readonly inputs: Set<string>;
  readonly blocks: Set<string>;
  readonly secrets: Set<string>;
  usesEach: boolean;
}

export const createMentions = (): Mentions => ({
  inputs: new Set(),
  blocks: new Set(),
  secrets: new Set(),
  usesEach: false,
});

export const namedBy = ({ inputs, blocks, secrets, usesEach }: Mentions): Named => ({
  inputs: [...inputs],
  blocks: [...blocks],
  secrets: [...secrets],
  usesEach,
});

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/**
 * Whether a list contains a name. The lists are those of a whole workflow and are searched for every reference, so they are cached as sets.
 */
export function isListed(list: readonly string[], name: string): boolean {
  let set = sets.get(list);
  if (set === undefined) sets.set(list, (set = new Set(list)));
  return set.has(name);
}

/** The first name of a reference, without the prefix of variables. */
export const nameOf = (reference: ExpressionReference): string => reference.name.slice(variablePrefix.length);

/** A path as an author writes it. */
export function pathText(name: string, path: readonly PathStep[]): string {
  const steps = path.map(({ key, isBracket }) => {
    if (key === undefined) return '[…]';
    return isBracket || typeof key === 'number' ? `[${JSON.stringify(key)}]` : `.${key}`;
  });
  return `${name}${steps.join('')}`;
}

/** What a text is compiled with. Faults and mentions are added to it. */
export interface Compilation {
  readonly names: Names;
  readonly mentions: Mentions;
  readonly faults: TextFault[];
}

/** The same for one expression of the text. */
export interface Resolution extends Compilation {
  /** Converts an offset in the expression to one in the author's text. */
  readonly offsetOf: (offset: number) => number;
}

function report(resolution: Resolution, reference: ExpressionReference, message: string, fix: string): void {
  resolution.faults.push({ offset: resolution.offsetOf(reference.start), rule: 'T3', message, fix });
}

/** Reports `unknown input "x"`, with the nearest known name. */
function reportUnknown(
  resolution: Resolution,
  reference: ExpressionReference,
  what: string,
  name: string,
  known: readonly string[],
  write: (guess: string) => string,
): void {
  const guess = nearest(name, known);
  const listed = [...new Set(known)].slice(0, 20).join(', ');
  const none = `there is no such thing here; put text in quotes`;
  const fix = guess !== undefined ? `write ${write(guess)}` : known.length === 0 ? none : `use one of: ${listed}`;
  report(resolution, reference, `no ${what} ${JSON.stringify(name)}`, fix);
}

function resolveInput(resolution: Resolution, reference: ExpressionReference): void {
  const { names, mentions } = resolution;
  const [first] = reference.path;
  if (first === undefined || first.key === undefined) {
    for (const name of names.inputs) mentions.inputs.add(name);
    return;
  }
  const name = String(first.key);
  if (isListed(names.inputs, name)) mentions.inputs.add(name);
  else
    reportUnknown(resolution, reference, 'input', name, names.inputs, (guess) =>
      pathText('inputs', [{ ...first, key: guess }]),
    );
}

function resolveField(
  resolution: Resolution,
  reference: ExpressionReference,
  block: string,
  steps: readonly PathStep[],
): void {
  const [first, second] = steps;
  if (steps.some(({ key }) => key === 'execution_time_ms')) resolution.names.timed?.add(block);
  const written = pathText(nameOf(reference), reference.path);
  if (first === undefined) {
    const fix = `name a field of it, or ${written}.outputs for all of them`;
    return report(resolution, reference, `${written} is a block, not a value`, fix);
  }
  if (first.key === undefined || standingFields.includes(String(first.key))) return;
  const known = resolution.names.fieldsOf(block);
  if (known === undefined || known.includes('outputs')) return;
  if (first.key === 'metadata' && second === undefined) return;
  const isMetadata = first.key === 'metadata' && !known.includes('metadata');
  const step = first.key === 'outputs' || isMetadata ? second : first;
  if (step?.key === undefined || known.includes(String(step.key))) return;
  if (isMetadata) {
    const all = [...metadataOfBlock, ...known];
    if (!all.includes(String(step.key)))
      reportUnknown(resolution, reference, `field of ${block}.metadata:`, String(step.key), all, (guess) => guess);
    return;
  }
  // The items of a for_each are found by their keys, also under `blocks`.
  const isIteration = known.includes('iterations') && step === first && (step.isBracket || step.key === 'blocks');
  if (isIteration) return;
  const all = step === first ? [...known, 'outputs', 'metadata', ...standingFields] : known;
  reportUnknown(resolution, reference, `field of ${block}:`, String(step.key), all, (guess) => guess);
}

function resolveBlock(resolution: Resolution, reference: ExpressionReference): void {
  const [first, ...steps] = reference.path;
  if (first?.key === undefined) {
    const message = 'which block is meant is not written out';
    return report(
      resolution,
      reference,
      message,
      'name it: blocks.ID.field; what a block waits for must be known before',
    );
  }
  const block = String(first.key);
  if (!isListed(resolution.names.blocks, block)) {
    return reportUnknown(resolution, reference, 'block', block, resolution.names.blocks, (guess) =>
      pathText('blocks', [{ ...first, key: guess }]),
    );
  }
  resolution.mentions.blocks.add(block);
  resolveField(resolution, reference, block, steps);
}

function resolveFixed(
  resolution: Resolution,
  reference: ExpressionReference,
  name: string,
  known: readonly string[],
): void {
  const [first] = reference.path;
  if (first?.key === undefined) {
    return report(resolution, reference, `${name} is no value`, `name a field of it: ${known.join(', ')}`);
  }
  if (known.includes(String(first.key))) return;
  reportUnknown(resolution, reference, `field of ${name}:`, String(first.key), known, (guess) => `${name}.${guess}`);
}

function resolveFlat(resolution: Resolution, reference: ExpressionReference, name: string): void {
  const { names, mentions, faults, offsetOf } = resolution;
  const isBlock = isListed(names.blocks, name);
  if (isListed(names.inputs, name)) {
    mentions.inputs.add(name);
    if (!isBlock) return;
    const message = `${JSON.stringify(name)} is an input and a block; this is the input`;
    const fix = `write inputs.${name} or blocks.${name}`;
    faults.push({ offset: offsetOf(reference.start), rule: 'T3', severity: 'warning', message, fix });
  } else if (isBlock) {
    mentions.blocks.add(name);
    resolveField(resolution, reference, name, reference.path);
  } else {
    const guess = nearest(name, names.inputs, names.blocks, namespaces);
    const quoted = reference.path.length === 0 ? ` or, if it is text, '${name}' in quotes` : '';
    const listed = `use an input, a block or one of: ${namespaces.join(', ')}${quoted}`;
    const fix = guess === undefined ? listed : `write ${pathText(guess, reference.path)}${quoted}`;
    report(resolution, reference, `no input or block ${JSON.stringify(name)}`, fix);
  }
}

/** The stored place that a reference names, as far as it is written out; undefined if it is not stored under a name of its own. */
function placeOf({ names }: Compilation, reference: ExpressionReference): readonly string[] | undefined {
  const name = nameOf(reference);
  const dynamic = reference.path.findIndex(({ key }) => key === undefined);
  const written = (dynamic === -1 ? reference.path : reference.path.slice(0, dynamic)).map(({ key }) => String(key));
  if (name === 'inputs' || name === 'each') return [name, ...written];
  if (isListed(names.inputs, name)) return ['inputs', name, ...written];
  if (name !== 'blocks' && !isListed(names.blocks, name)) return undefined;
  const [block, ...fields] = name === 'blocks' ? written : [name, ...written];
  return block === undefined ? undefined : ['outputs', block, ...(fields[0] === 'outputs' ? fields.slice(1) : fields)];
}

/** Refuses to read what a rule keeps out of the store, since it will not be there when a later block reads it. */
function refuseUnstored(resolution: Resolution, reference: ExpressionReference): void {
  const { redact } = resolution.names;
  const place = redact === undefined ? undefined : placeOf(resolution, reference);
  if (redact === undefined || place === undefined || unstoredPart(redact, place) === undefined) return;
  const written = pathText(nameOf(reference), reference.path);
  const message = `${written} is kept out of the store by \`redact\` in the configuration, so it cannot be read`;
  const fix = 'hand it over as a secret (secrets: and ${secrets.NAME}), or take it out of `redact.store`';
  resolution.faults.push({ offset: resolution.offsetOf(reference.start), rule: 'T14', message, fix });
}

/** Resolves one reference: namespaces first, then inputs, then blocks. */
export function resolveReference(resolution: Resolution, reference: ExpressionReference): void {
  refuseUnstored(resolution, reference);
  const name = nameOf(reference);
  if (name === 'inputs') resolveInput(resolution, reference);
  else if (name === 'blocks') resolveBlock(resolution, reference);
  else if (name === 'metadata') resolveFixed(resolution, reference, name, metadataFields);
  else if (name === 'each') {
    resolution.mentions.usesEach = true;
    if (resolution.names.hasEach) resolveFixed(resolution, reference, name, eachFields);
    else
      report(
        resolution,
        reference,
        'each is known only in a block with for_each',
        'give the block a for_each, or remove it',
      );
  } else if (name === 'secrets') {
    const fix = 'write ${secrets.NAME} by itself or within text; it is filled in only when the block runs';
    report(resolution, reference, 'a secret is part of an expression', fix);
  } else resolveFlat(resolution, reference, name);
}
