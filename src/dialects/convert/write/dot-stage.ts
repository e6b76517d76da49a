/** What a step of an outline is as a stage of a pipeline: its attributes. */
import { normalLabel } from '../../dot/model/labels.ts';
import { presetPolicy, retryPresets } from '../../dot/model/retry-presets.ts';
import { same } from '../../../schema/json-schema.ts';
import type { AgentTools } from '../outline/agent-tools.ts';
import type { Notes } from '../outline/notes.ts';
import { commandMs, failure, isVerdict, type OutlineInput, type Step, type Text } from '../outline/outline.ts';
import { budgetPairs, labelOfChoice, type Pairs } from './dot-pairs.ts';
import { DotPrompts } from './dot-prompts.ts';
import { durationText } from './duration.ts';

export class StageWriter {
  readonly #prompts: DotPrompts;
  readonly #notes: Notes;

  constructor(inputs: readonly OutlineInput[], notes: Notes) {
    this.#prompts = new DotPrompts(inputs, notes);
    this.#notes = notes;
  }

  attributesOf(step: Step): Pairs {
    const { title, timeoutMs, isIdempotent, work } = step;
    const usual = work.kind === 'command' ? commandMs : undefined;
    return [
      ...this.#work(step),
      ...('question' in work ? [] : ([['label', title]] as const)),
      ['timeout', timeoutMs === undefined || timeoutMs === usual ? undefined : durationText(timeoutMs)],
      ['idempotent', work.kind === 'command' && isIdempotent ? 'true' : undefined],
      ...this.#retry(step),
      ...budgetPairs(step.budget),
    ];
  }

  #work(step: Step): Pairs {
    const { work, id } = step;
    switch (work.kind) {
      case 'command': {
        const workdir: Pairs = [['workdir', work.folder]];
        if (work.stdin === undefined) return [['shape', 'parallelogram'], ['tool_command', work.script], ...workdir];
        return [...this.#prompts.told(step, work.stdin), ['agent_command', work.script], ...workdir];
      }
      case 'model':
        this.#noteVerdict(step);
        return [
          ...this.#prompts.told(step, work.prompt),
          ['llm_model', work.model === 'default' ? undefined : work.model],
          ...(work.agent === undefined ? [] : agentPairs(work.agent)),
        ];
      case 'child':
        return [
          ['shape', 'house'],
          ['stack.child_dotfile', work.file],
        ];
      case 'choice':
        this.#noteAlike(step, work.choices);
        return this.#question(step, work.question);
      case 'confirm':
        return this.#question(step, work.question, 'yes_no');
      case 'text':
        return this.#question(step, work.question, 'freeform');
      default:
        throw new Error(`${id} has branches, which nothing but a pipeline says`);
    }
  }

  #question(step: Step, question: Text, form?: 'yes_no' | 'freeform'): Pairs {
    return [
      ['shape', 'hexagon'],
      ['human.type', form],
      ['label', this.#prompts.asked(step, question)],
    ];
  }

  /** A pipeline compares labels without regard to letter case and space. */
  #noteAlike({ id, place }: Step, choices: readonly string[]): void {
    const labels = choices.map((choice) => normalLabel(labelOfChoice(choice)));
    if (new Set(labels).size < labels.length || choices.some((choice) => choice.trim() !== choice || choice === ''))
      this.#notes.lost(
        'ANSWER',
        place,
        `${id} has choices that differ in letter case or space alone`,
        'say them otherwise',
      );
  }

  /** A pipeline asks a model how it went wherever there is more than one way on. */
  #noteVerdict(step: Step): void {
    const edges = step.ends.filter(({ to }) => to !== failure);
    if (!isVerdict(step.work) && edges.length > 1)
      this.#notes.lost(
        'PROMPT',
        step.place,
        `${step.id} is asked to end its answer with how it went, and may say that it failed`,
        'nothing, if that is welcome',
      );
  }

  /** The preset whose delays these are, and the number of attempts where it is not the preset's. */
  #retry({ id, place, retry }: Step): Pairs {
    if (retry === undefined) return [];
    const { attempts, ...delays } = retry;
    for (const preset of ['', ...retryPresets]) {
      const { attempts: usual, ...rest } = presetPolicy(preset);
      if (!same(rest, delays)) continue;
      const isUsual = preset !== '' && usual === attempts;
      return [
        ['retry_policy', preset === '' ? undefined : preset],
        ['max_retries', isUsual ? undefined : String(attempts - 1)],
      ];
    }
    this.#notes.changed(
      'SETTING',
      place,
      `${id} is tried again after delays of a pipeline`,
      'nothing, or name a retry_policy',
    );
    return [['max_retries', String(attempts - 1)]];
  }
}

function agentPairs({ files, shell, asks, allow, loopsMax }: AgentTools): Pairs {
  const tools = [
    ...(files === undefined ? [] : [files.isReadOnly ? 'read' : 'write']),
    ...(shell ? ['shell'] : []),
    ...(asks ? ['ask_person'] : []),
  ];
  return [
    ['tools', tools.join(',')],
    ['allow_tools', allow.length === 0 ? undefined : allow.join(',')],
    ['max_turns', String(loopsMax)],
    ['workdir', files === undefined || files.folder === '.' ? undefined : files.folder],
  ];
}
