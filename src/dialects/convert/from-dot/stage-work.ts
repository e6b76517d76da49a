/** What a stage of a pipeline does, and how it may end. */
import { retryOf } from '../../dot/compile/stage-policy.ts';
import { normalLabel, sayingOf } from '../../dot/model/labels.ts';
import { folderOf, type Pipeline, type Stage } from '../../dot/model/pipeline.ts';
import { modelNameOf } from '../../dot/run/handlers/codergen.ts';
import { chose, commandMs, type End, type Piece, type Step, type Target, type Text } from '../outline/outline.ts';
import { byHand } from '../outline/stand-in.ts';
import { writePrompt } from '../outline/told-answer.ts';
import { parallelWork } from './parallel-work.ts';
import type { Ending } from './pipeline-ways.ts';
import type { Done, StageReading } from './stage-reading.ts';

/** The step of a stage that works; diamonds, the start and the exit are none. */
export function workOfStage(stage: Stage, reading: StageReading): Done {
  const branches = reading.layout.branches.get(stage.id);
  if (branches !== undefined) return parallelWork(stage, branches, reading);
  const kind = kindOfWork(stage);
  if (kind !== undefined) return works[kind](stage, reading);
  const { notes, placeOf, ways } = reading;
  notes.lost(
    'WORK',
    placeOf(stage.at),
    `${stage.id} is of type ${stage.type}, which only a pipeline has; a person does it by hand`,
    'write blocks that do its work',
  );
  const said = stage.attributes.text('prompt') || stage.attributes.text('label') || stage.id;
  const [success, fail] = (['success', 'fail'] as const).map((outcome) => ways.leave(stage, { outcome }));
  return { ...byHand(said, success as Target, fail as Target), timeoutMs: undefined, isIdempotent: false };
}

type Kind = 'tool' | 'codergen' | 'command' | 'human';

function kindOfWork({ type, attributes }: Stage): Kind | undefined {
  if (type === 'tool') return 'tool';
  if (type === 'wait.human') return 'human';
  if (type !== 'codergen' || attributes.text('tools') !== '') return undefined;
  return attributes.text('agent_command') === '' ? 'codergen' : 'command';
}

const works: Readonly<Record<Kind, (stage: Stage, reading: StageReading) => Done>> = {
  tool: (stage, reading) => {
    const script = stage.attributes.text('tool_command');
    noteReport(stage, script, reading);
    return { ...commandOf(stage, script), ends: plainEnds(stage, reading) };
  },
  command: (stage, reading) => {
    const script = stage.attributes.text('agent_command');
    noteReport(stage, script, reading);
    const { work, ...rest } = commandOf(stage, script);
    return { ...rest, work: { ...work, stdin: promptOf(stage, reading) }, ends: plainEnds(stage, reading) };
  },
  codergen: modelWork,
  human: humanWork,
};

function commandOf(stage: Stage, script: string): Omit<Done, 'ends' | 'work'> & { readonly work: CommandWork } {
  const folder = folderOf(stage, '');
  return {
    work: { kind: 'command', script, ...(folder !== '.' && folder !== '' && { folder }) },
    timeoutMs: stage.attributes.durationMs('timeout') ?? commandMs,
    isIdempotent: stage.attributes.flag('idempotent'),
  };
}
type CommandWork = Extract<Step['work'], { readonly kind: 'command' }>;

/** A command may report by a file; only its exit code carries over. */
function noteReport(stage: Stage, script: string, { notes, placeOf, ways }: StageReading): void {
  const isGate = stage.attributes.flag('goal_gate') && stage.type === 'codergen';
  const isAsked = stage.type === 'codergen' && (isGate || ways.edgesOf(stage.id).length > 1);
  if (!isAsked && stage.attributes.text('status_file') === '' && !/CAIRN_(?:STATUS_FILE|PROMPT_FILE)/.test(script))
    return;
  notes.lost(
    'REPORT',
    placeOf(stage.at),
    `what the command of ${stage.id} reports beside its exit code is not read`,
    'end it with an exit code, or print what follows from it and read its stdout',
  );
}

/** The ends of what succeeds or fails. */
function plainEnds(stage: Stage, { ways }: StageReading): readonly End[] {
  const context = stage.type === 'tool' ? { 'tool.exit_code': 0 } : {};
  return [
    { on: 'success', to: ways.leave(stage, { outcome: 'success', context }) },
    { on: 'fail', to: ways.leave(stage, { outcome: 'fail' }) },
  ];
}

function modelWork(stage: Stage, reading: StageReading): Done {
  const { ways, notes, placeOf } = reading;
  const { attributes } = stage;
  const edges = ways.edgesOf(stage.id);
  const mustReport = attributes.flag('goal_gate') || edges.length > 1 || edges.some((edge) => edge.takesFailures);
  const labels = [...new Set(edges.map(({ caption }) => caption).filter((caption) => caption !== ''))];
  if (attributes.text('reasoning_effort') !== '')
    notes.lost(
      'SETTING',
      placeOf(stage.placeOf('reasoning_effort')),
      `the reasoning effort of ${stage.id} is not told`,
      'set it in the profile of the model',
    );
  if (mustReport)
    notes.changed(
      'PROMPT',
      placeOf(stage.at),
      `${stage.id} is asked for its verdict by a schema, not by words in the prompt`,
      'nothing, or word it in the prompt',
    );
  const ends = [
    ...plainEnds(stage, reading),
    ...(mustReport ? labels : []).map((label) => ({
      on: chose(label),
      to: ways.leave(stage, { outcome: 'success', label }),
    })),
  ];
  return {
    work: {
      kind: 'model',
      prompt: promptOf(stage, reading),
      model: modelNameOf(stage),
      ...(mustReport && { verdict: labels }),
    },
    ends,
    timeoutMs: attributes.durationMs('timeout'),
    isIdempotent: true,
  };
}

/** The prompt; before it the goal, as far as the run is told it. */
function promptOf(stage: Stage, { pipeline, notes, placeOf, fidelityOf }: StageReading): Text {
  const own = stage.attributes.text('prompt') || stage.attributes.text('label') || stage.id;
  const names = new Set(['goal', ...pipeline.params.map(({ name }) => name)]);
  const fidelity = fidelityOf(stage);
  if (fidelity !== 'truncate')
    notes.lost(
      'PROMPT',
      placeOf(stage.at),
      `${stage.id} is told the goal, and at most the answer before it, but not ${fidelity === 'full' ? 'the conversation' : 'what else the run did'} (${fidelity})`,
      'name what it needs in its prompt: ${blocks.ID.response.content}, ${blocks.ID.stdout}',
    );
  const hasGoal = pipeline.attributes.text('goal') !== '';
  return writePrompt({ hasGoal, answerOf: undefined, own: pieces(own, names) });
}

/** The text with `$NAME` of inputs as whole words. */
function pieces(text: string, names: ReadonlySet<string>): Text {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g)) {
    const [word, name = ''] = match;
    if (!names.has(name)) continue;
    found.push(text.slice(from, match.index), { input: name });
    from = match.index + word.length;
  }
  return [...found, text.slice(from)];
}

function humanWork(stage: Stage, reading: StageReading): Done {
  const { ways, notes, placeOf } = reading;
  const { attributes } = stage;
  const place = placeOf(stage.at);
  const form = attributes.text('human.type') || 'multiple_choice';
  if (attributes.has('timeout'))
    notes.lost(
      'ANSWER',
      place,
      `${stage.id} waits for an answer without a limit, and takes no default`,
      'answer it by a program when it is late',
    );
  const question: Text = [attributes.text('label') || (form === 'freeform' ? 'What do you say?' : 'Select an option:')];
  const rest = { timeoutMs: undefined, isIdempotent: false };
  if (form === 'yes_no' || form === 'confirmation') {
    const no: Ending = { outcome: form === 'confirmation' ? 'fail' : 'success', label: 'No' };
    return {
      ...rest,
      work: { kind: 'confirm', question },
      ends: [
        { on: 'yes', to: ways.leave(stage, { outcome: 'success', label: 'Yes' }) },
        { on: 'no', to: ways.leave(stage, no) },
      ],
    };
  }
  const edges = ways.edgesOf(stage.id);
  const isConditional = edges.some(({ clauses }) => clauses.length > 0);
  if (isConditional)
    notes.lost(
      'CONDITION',
      place,
      `${stage.id} offers all its edges, whatever their conditions`,
      'ask at blocks of their own, each with a condition',
    );
  const labelled = new Map<string, { readonly label: string; readonly to: string }>();
  for (const { caption, to } of edges) {
    const label = caption === '' ? to : caption;
    if ((form !== 'freeform' || caption !== '') && !labelled.has(normalLabel(label)))
      labelled.set(normalLabel(label), { label, to });
  }
  if (form === 'freeform') {
    if (labelled.size > 0)
      notes.lost(
        'ANSWER',
        place,
        `${stage.id} takes any text, and none of them chooses an edge`,
        'ask for a choice first',
      );
    const open = edges.filter(({ caption }) => caption === '').map(({ to }) => to);
    const to = ways.leave(stage, { outcome: 'success', suggested: open });
    return { ...rest, work: { kind: 'text', question }, ends: [{ on: 'success', to }] };
  }
  if ([...labelled.values()].some(({ label }) => sayingOf(label) !== label))
    notes.changed(
      'ANSWER',
      place,
      `the choices of ${stage.id} have no keys: they are answered by what they say, or by number`,
      'nothing',
    );
  return {
    ...rest,
    work: { kind: 'choice', question, choices: [...labelled.values()].map(({ label }) => sayingOf(label)) },
    ends: [...labelled.values()].map(({ label, to }) => ({
      on: chose(sayingOf(label)),
      to: ways.leave(stage, { outcome: 'success', label, suggested: [to] }, true),
    })),
  };
}

/** Attempts, if there are more than one. A question is asked once. */
export function retryOfStage(stage: Stage, pipeline: Pipeline): Step['retry'] {
  const retry = retryOf(stage, pipeline);
  return stage.type === 'wait.human' || retry.attempts === 1 ? undefined : retry;
}
