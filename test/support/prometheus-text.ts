/** Reads the text form of Prometheus strictly: each sample below the head of its series, and no series twice. */

const line =
  /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf|NaN))$/u;

/** Values by name and labels. @throws Error a line is not of the form */
export function readSamples(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  const heads = new Set<string>();
  let series = '';
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const each of text.split('\n').slice(0, -1)) {
    const [, type] = /^# TYPE (\S+) (?:counter|gauge|histogram)$/u.exec(each) ?? [];
    if (type !== undefined) {
      if (heads.has(type)) throw new Error(`${type} comes twice`);
      heads.add((series = type));
      continue;
    }
    if (each.startsWith('# HELP ')) continue;
    const [, name, labels = '', value] = line.exec(each) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no sample: ${each}`);
    if (name.replace(/_(?:bucket|sum|count)$/u, '') !== series && name !== series)
      throw new Error(`${name} stands below the head of ${series}`);
    if (samples.has(name + labels)) throw new Error(`${name}${labels} comes twice`);
    samples.set(name + labels, Number(value));
  }
  return samples;
}
