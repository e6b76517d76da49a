/** Streams an answer of the model port to the SDK: its texts as they come, and the rest when the answer is whole. */
import type { ModelDelta } from '../graph/contracts/model-contract.ts';
import type { PartQueue } from './part-queue.ts';
import { partsOfContent, type RecordedAnswer } from './recorded-answer.ts';
import type { SdkContent, SdkStreamPart } from './sdk-types.ts';

type Spoken = Extract<SdkContent, { readonly type: 'text' | 'reasoning' }>;

interface ToldPart {
  readonly type: Spoken['type'];
  readonly id: string;
  text: string;
}

/** The texts of one answer that were streamed so far. They stay open until the answer is whole, since only it has the provider's data. */
export class ToldPieces {
  readonly #queue: PartQueue<SdkStreamPart>;
  readonly #parts: ToldPart[] = [];
  /** Ids of the tool calls whose arguments have begun. */
  readonly #calls = new Set<string>();

  constructor(queue: PartQueue<SdkStreamPart>) {
    this.#queue = queue;
  }

  /** Streams a piece. What follows a tool call comes with the whole answer, so that the order of its parts is kept. */
  tell(delta: ModelDelta): void {
    if (delta.type === 'tool-arguments') return this.#tellArguments(delta);
    const { type, text } = delta;
    if (this.#calls.size > 0 || text === '') return;
    let part = this.#parts.at(-1);
    if (part?.type !== type) {
      part = { type, id: `piece-${this.#parts.length}`, text: '' };
      this.#parts.push(part);
      this.#queue.push({ type: `${type}-start`, id: part.id });
    }
    part.text += text;
    this.#queue.push({ type: `${type}-delta`, id: part.id, delta: text });
  }

  #tellArguments({ id, tool, text }: Extract<ModelDelta, { readonly type: 'tool-arguments' }>): void {
    if (!this.#calls.has(id)) this.#queue.push({ type: 'tool-input-start', id, toolName: tool });
    this.#calls.add(id);
    if (text !== '') this.#queue.push({ type: 'tool-input-delta', id, delta: text });
  }

  /** The parts of the stream that were not told yet. @throws Error the answer does not begin with the texts that were told */
  *rest({ content }: RecordedAnswer): Generator<SdkStreamPart> {
    for (const id of this.#calls) yield { type: 'tool-input-end', id };
    const told = [...this.#parts];
    for (const [index, part] of content.entries()) {
      const open = part.type === told[0]?.type ? told.shift() : undefined;
      if (open === undefined) yield* partsOfContent(part, `whole-${index}`);
      else yield* endOf(open, part as Spoken);
    }
    if (told.length > 0) throw differs();
  }
}

function* endOf({ id, type, text: told }: ToldPart, { text, providerMetadata }: Spoken): Generator<SdkStreamPart> {
  if (!text.startsWith(told)) throw differs();
  if (text.length > told.length) yield { type: `${type}-delta`, id, delta: text.slice(told.length) };
  yield { type: `${type}-end`, id, ...(providerMetadata !== undefined && { providerMetadata }) };
}

const differs = (): Error => new Error('the whole answer is not the one whose pieces were told');
