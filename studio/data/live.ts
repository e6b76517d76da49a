/** What models are just saying: pieces that come before the checkpoint that records the whole. Pure. */

/** A call of a model that is under way. */
export interface LiveCall {
  readonly node: readonly string[];
  readonly call: string;
  readonly text: string;
  readonly reasoning: string;
  /** Calls of tools that it is asking for, with their arguments as far as they are written. */
  readonly tools: readonly { readonly id: string; readonly tool: string; readonly input: string }[];
}

interface Piece {
  readonly type?: string;
  readonly call?: string;
  readonly delta?: { readonly type: string; readonly text: string; readonly id?: string; readonly tool?: string };
}

/** A piece, taken in. Pieces of a call that begins anew are void. */
export function takePiece(
  calls: readonly LiveCall[],
  node: readonly string[],
  { type, call = '', delta }: Piece,
): readonly LiveCall[] {
  const others = calls.filter((one) => one.call !== call);
  if (type === 'model-restarted') return others;
  if (type !== 'model-delta' || delta === undefined) return calls;
  const old = calls.find((one) => one.call === call) ?? { node, call, text: '', reasoning: '', tools: [] };
  return [...others, withDelta(old, delta)];
}

function withDelta(old: LiveCall, { type, text, id = '', tool = '' }: NonNullable<Piece['delta']>): LiveCall {
  if (type === 'text') return { ...old, text: old.text + text };
  if (type === 'reasoning') return { ...old, reasoning: old.reasoning + text };
  if (type !== 'tool-arguments') return old;
  const known = old.tools.find((one) => one.id === id) ?? { id, tool, input: '' };
  return {
    ...old,
    tools: [...old.tools.filter((one) => one.id !== id), { ...known, input: known.input + text }],
  };
}

/** What is still under way after a checkpoint: what its steps made is on record. */
export function withoutRecorded(
  calls: readonly LiveCall[],
  change: readonly { readonly kind: string; readonly node?: readonly string[] }[],
): readonly LiveCall[] {
  if (calls.length === 0) return calls;
  const settled = new Set(
    change.filter(({ kind }) => kind === 'step' || kind === 'settle').map(({ node = [] }) => node.join('/')),
  );
  const open = calls.filter(({ node }) => !settled.has(node.join('/')));
  return open.length === calls.length ? calls : open;
}
