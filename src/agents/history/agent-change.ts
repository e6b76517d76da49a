/** What an agent is made of, how it has changed since a conversation began, and with which opening messages that goes on (A3). */
import type { ModelMessage, ModelTool, ProviderTool } from '../../graph/contracts/model-messages.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { hashText } from '../../state/values/canonical-text.ts';
import { withoutDefaults } from '../../schema/schema-defaults.ts';
import type { FinalForm } from '../answers/final-answer.ts';
import type { ModelSettings } from '../model/model-step.ts';
import type { ModeName } from '../modes/text-modes.ts';
import { separator, type AgentParts, type ChangeNote, type OpeningNote, type TurnNote } from '../turn-note.ts';

export interface DescribedAgent {
  readonly messages: readonly ModelMessage[];
  /** What identifies the instructions where a function gives them: what it declares, or its source. Default: their text. */
  readonly source?: string | undefined;
  readonly settings: ModelSettings;
  readonly form: FinalForm | undefined;
  readonly mode: ModeName;
  readonly offered: readonly (ModelTool | ProviderTool)[];
  /** Sources of composed tools, which are repeated: only the same one is. */
  readonly composed: Readonly<Record<string, string>>;
}

export const shortHash = (value: unknown): string => hashText(encodeValue(value)).slice(0, 12);

export function partsOf({ messages, source, settings, form, mode, offered, composed }: DescribedAgent): AgentParts {
  const { model, ...others } = settings;
  const named = (prefix: string, entries: readonly (readonly [string, unknown])[]): AgentParts =>
    Object.fromEntries(entries.map(([name, value]) => [`${prefix}${name}`, shortHash(value)]));
  return {
    instructions: shortHash(source ?? systemOf(messages)),
    prompt: shortHash(messages.filter(({ role }) => role !== 'system')),
    model,
    settings: shortHash(others),
    ...(form !== undefined && { 'answer form': shortHash(form.json) }),
    mode,
    ...named(
      'tool ',
      offered.map((tool) => [tool.name, withoutDefaults(tool)]),
    ),
    ...named(codePrefix, Object.entries(composed)),
  };
}

const codePrefix = 'code of tool ';
/** Parts in which a conversation goes on as it began, whatever they are now. */
const unchangeable: readonly string[] = ['prompt', 'mode'];
const stays = ' (stays as it was)';

function systemOf(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.filter(({ role }) => role === 'system');
}

/** In words, which parts of an agent are others than they were: `tool refund`, `tool look added`. */
export function changesOf(before: AgentParts | undefined, now: AgentParts): readonly string[] {
  if (before === undefined) return [];
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].flatMap((name) => {
    if (before[name] === now[name]) return [];
    return [`${name}${before[name] === undefined ? ' added' : now[name] === undefined ? ' removed' : ''}`];
  });
}

/** How a conversation stands on record: how it opened, and what changed since. */
export class RecordedAgent {
  readonly #opening: OpeningNote;
  readonly #changes: ChangeNote[];

  /** @param notes - those of its calls, in order */
  constructor(opening: OpeningNote, notes: readonly unknown[]) {
    this.#opening = opening;
    this.#changes = notes.flatMap((note) => (note as TurnNote | undefined)?.changed ?? []);
  }

  get mode(): ModeName {
    return this.#opening.mode;
  }

  /** What the agent was made of when its last answer was given; undefined in older records. */
  get #parts(): AgentParts | undefined {
    return this.#changes.at(-1)?.parts ?? this.#opening.parts;
  }

  /** The system messages of the last request, with what its mode added. */
  get #head(): Pick<OpeningNote, 'messages' | 'guideFrom'> {
    const { messages, guideFrom } =
      this.#changes.findLast(({ opening }) => opening !== undefined)?.opening ?? this.#opening;
    return { messages: systemOf(messages), ...(guideFrom !== undefined && { guideFrom }) };
  }

  /** The system messages of the last request as the agent gave them, without what its mode added. */
  get #instructions(): readonly ModelMessage[] {
    const { messages, guideFrom } = this.#head;
    const [first, ...others] = messages;
    if (first?.role !== 'system' || this.mode === 'native') return messages;
    if (guideFrom === undefined) return others;
    return [{ ...first, content: first.content.slice(0, guideFrom - separator.length) }, ...others];
  }

  /** Whether the instructions are those of the record: their text is equal, or what gives them is. */
  #areInstructionsEqual(parts: AgentParts, now: readonly ModelMessage[]): boolean {
    return this.#parts === undefined
      ? encodeValue(systemOf(now)) === encodeValue(this.#instructions)
      : this.#parts['instructions'] === parts['instructions'];
  }

  /**
   * The messages with which the conversation goes on: what was said first is as it was said, and so are the instructions while they are
   * unchanged, also where their function gives another text each time.
   */
  messagesFor(parts: AgentParts, now: readonly ModelMessage[]): readonly ModelMessage[] {
    const said = this.#opening.messages.filter(({ role }) => role !== 'system');
    return [...(this.#areInstructionsEqual(parts, now) ? this.#instructions : systemOf(now)), ...said];
  }

  /** Composed tools whose source is another than on record, or of which no source is. */
  changedTools(parts: AgentParts): ReadonlySet<string> {
    const before = this.#parts;
    const names = Object.keys(parts).filter((name) => name.startsWith(codePrefix));
    const changed = before === undefined ? [] : names.filter((name) => before[name] !== parts[name]);
    return new Set(changed.map((name) => name.slice(codePrefix.length)));
  }

  /**
   * Takes up what the agent is made of now. @returns what to note with the first call that is made with it; undefined if nothing changed
   * @param opening - with which the conversation goes on
   * @param now - the opening messages as the agent gives them now
   */
  change(
    { parts, ...opening }: OpeningNote & { readonly parts: AgentParts },
    now: readonly ModelMessage[],
  ): ChangeNote | undefined {
    const changes = [...this.#changedParts(parts), ...this.#keptInstructions(parts, now)];
    if (changes.length === 0) return undefined;
    const head = {
      messages: systemOf(opening.messages),
      ...(opening.guideFrom !== undefined && { guideFrom: opening.guideFrom }),
    };
    const change = { changes, parts, ...(encodeValue(head) !== encodeValue(this.#head) && { opening: head }) };
    this.#changes.push(change);
    return change;
  }

  #changedParts(parts: AgentParts): readonly string[] {
    return changesOf(this.#parts, parts).flatMap((change) => {
      if (change.startsWith(codePrefix)) return [];
      return unchangeable.includes(change) ? [`${change}${stays}`] : [change];
    });
  }

  /** Instructions whose function gives another text than on record, which is told once in a visit. */
  #keptInstructions(parts: AgentParts, now: readonly ModelMessage[]): readonly string[] {
    const words = `instructions${stays}`;
    const isTold = this.#changes.some(({ changes }) => changes.includes(words));
    if (isTold || !this.#areInstructionsEqual(parts, now)) return [];
    return encodeValue(systemOf(now)) === encodeValue(this.#instructions) ? [] : [words];
  }
}
