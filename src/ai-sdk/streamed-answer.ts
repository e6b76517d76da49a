/** Assembles an answer from the pieces of its stream in the same way as the SDK, so that the recorded answer is what the SDK saw. */
import { answerOf, type AnswerDefaults, type RecordedAnswer } from './recorded-answer.ts';
import type { SdkContent, SdkResult, SdkStreamPart } from './sdk-types.ts';

type Finish = Extract<SdkStreamPart, { readonly type: 'finish' }>;
type Metadata = Extract<SdkStreamPart, { readonly type: 'response-metadata' }>;
type Piece = Extract<SdkStreamPart, { readonly type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>;
type Spoken = { -readonly [Key in keyof SpokenContent]: SpokenContent[Key] };
type SpokenContent = Extract<SdkContent, { readonly type: 'text' }>;

/** The answer so far. */
export class StreamedAnswer {
  readonly #content: SdkContent[] = [];
  readonly #open = new Map<string, Spoken>();
  #warnings: SdkResult['warnings'] = [];
  #metadata: Partial<Metadata> = {};
  #finish: Finish | undefined;

  /** Number of parts that have begun. */
  get length(): number {
    return this.#content.length;
  }

  /** Adds a piece. @throws the error that the provider sent in the stream */
  take(part: SdkStreamPart): void {
    switch (part.type) {
      case 'stream-start':
        this.#warnings = part.warnings;
        return;
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#speak(part);
      case 'response-metadata':
        this.#metadata = { ...this.#metadata, ...part };
        return;
      case 'finish':
        this.#finish = part;
        return;
      case 'error':
        throw part.error;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        return;
      default:
        this.#content.push(part);
    }
  }

  /** The complete answer. @throws Error the stream ended before the answer did */
  end(defaults: AnswerDefaults): RecordedAnswer {
    if (this.#finish === undefined || this.#finish.finishReason.unified === 'interrupted')
      throw new Error('the stream ended before the answer did');
    const { finishReason, usage, providerMetadata } = this.#finish;
    const { type: _, ...response } = this.#metadata;
    const answer = { content: this.#content, finishReason, usage, warnings: this.#warnings, response };
    return answerOf({ ...answer, ...(providerMetadata !== undefined && { providerMetadata }) }, defaults);
  }

  #speak(part: Piece): void {
    const [type, piece] = part.type.split('-') as ['text' | 'reasoning', 'start' | 'delta' | 'end'];
    const place = `${type} ${part.id}`;
    if (piece === 'start') {
      const begun = { type, text: '' } as Spoken;
      this.#open.set(place, begun);
      this.#content.push(begun);
    }
    const open = this.#open.get(place);
    if (open === undefined) return;
    if ('delta' in part) open.text += part.delta;
    if ('citations' in part && part.citations !== undefined) open.citations = part.citations;
    if (part.providerMetadata !== undefined) open.providerMetadata = part.providerMetadata;
    if (piece === 'end') this.#open.delete(place);
  }
}
