/** Server-sent events of a run, and what a page takes from them: the head of its history. Pure, but for the reading. */

/** Blocks of server-sent events, as fields, however the bytes are cut. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Readonly<Record<string, string>>> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const piece of body) {
    text += decoder.decode(piece, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = text
        .slice(0, end)
        .split('\n')
        .map((line) => line.split(/: ?(.*)/su));
      text = text.slice(end + 2);
      yield Object.fromEntries(fields.map(([name = '', value = '']) => [name, value]));
    }
  }
}

export interface Heard {
  /** The newest checkpoint. */
  readonly head: number;
  /** `ended`: nothing follows. `broken`: the server cannot go on with this stream. */
  readonly state: 'open' | 'ended' | 'broken';
}

/** What is known after an event. A `reset` says that the history lost its tail: it goes on from before that. */
export function takeEvent(head: number, { event, data = '{}' }: Readonly<Record<string, string>>): Heard {
  const { seq, from } = JSON.parse(data) as { readonly seq?: number; readonly from?: number };
  if (event === 'reset' && from !== undefined) return { head: Math.max(0, from - 1), state: 'open' };
  const isSeq = (event === 'checkpoint' || event === 'end') && seq !== undefined;
  const state = event === 'end' ? 'ended' : event === 'problem' ? 'broken' : 'open';
  return { head: isSeq ? seq : head, state };
}
