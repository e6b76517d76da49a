/** Tells from the head of a text whether it is a pipeline, and its name, without reading all of it. */

/** Whether a file is a pipeline, by its name. */
export function isPipelineFile(name: string): boolean {
  return /\.(?:dot|gv)$/i.test(name);
}

/** The name of the digraph with which a text begins, `` if it has none. Undefined means that the text is no pipeline. */
export function pipelineNameOf(text: string): string | undefined {
  const [, quoted, plain] =
    /^(?:strict\s+)?digraph(?:\s+(?:"([^"\\\n]*)"|([\p{L}_][\p{L}\p{N}_]*)))?\s*\{/iu.exec(behindComments(text)) ?? [];
  if (quoted !== undefined || plain !== undefined) return quoted ?? plain;
  return /^(?:strict\s+)?(?:di)?graph\b/i.test(behindComments(text)) ? '' : undefined;
}

function behindComments(text: string): string {
  let at = 0;
  for (;;) {
    const gap = /[\s\uFEFF]*/y;
    gap.lastIndex = at;
    at += gap.exec(text)?.[0].length ?? 0;
    const isLine = text.startsWith('//', at) || text.startsWith('#', at);
    if (!isLine && !text.startsWith('/*', at)) return text.slice(at, at + 1_000);
    const end = isLine ? text.indexOf('\n', at) : text.indexOf('*/', at + 2);
    if (end < 0) return '';
    at = end + (isLine ? 1 : 2);
  }
}
