/** Random YAML workflows with effects, questions, loops over items, child workflows, retries and failures that are passed over, from one seed. */
import { readWorkflow } from '../../src/dialects/yaml/index.ts';
import type { OpenQuestion } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { CrashCase, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { mixNumber } from '../random-graph/mix-number.ts';
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { textsOf, type Others } from '../yaml-kit.ts';
import { yamlEffectTypes } from './yaml-effects.ts';

export interface YamlPlan {
  readonly text: string;
  /** Workflows it calls, by name. */
  readonly others: Others;
  /** False: a failure fails the run, so what else is done depends on the schedule. */
  readonly isScheduleFree: boolean;
}

export interface YamlPlanOptions {
  /** Blocks of a workflow, at most. Default 4. */
  readonly blocksMost?: number;
}

/** The input of every random workflow. */
const yamlPlanInput: { readonly word: string } = { word: 'start' };

type Kind = 'effect' | 'items' | 'confirm' | 'choice' | 'text' | 'interview' | 'call' | 'calls';

interface Block {
  readonly id: string;
  readonly lines: readonly string[];
  /** An expression that reads something of it, once it completed. */
  readonly read: string;
}

/** Draws a workflow and those it calls. */
export function planYaml(seed: number, { blocksMost = 4 }: YamlPlanOptions = {}): YamlPlan {
  const random = createSeededRandom(seed);
  const mayFail = random.chance(0.15);
  const draw = (name: string, most: number, callees: readonly string[]): string =>
    drawWorkflow(random.fork(), { name, most, callees, mayFail });
  const others = { leaf: draw('leaf', 2, []), branch: draw('branch', 2, ['leaf']) };
  return { text: draw('main', blocksMost, ['leaf', 'branch']), others, isScheduleFree: !mayFail };
}

interface Drawing {
  readonly name: string;
  readonly most: number;
  readonly callees: readonly string[];
  readonly mayFail: boolean;
}

function drawWorkflow(random: SeededRandom, drawing: Drawing): string {
  const blocks: Block[] = [];
  const count = 1 + random.integer(drawing.most);
  for (let index = 0; index < count; index += 1) blocks.push(drawBlock(random, drawing, blocks));
  const outputs = blocks.flatMap(({ id, read }) => [
    `  ${id}: "\${blocks.${id}.status}"`,
    `  ${id}_value: "\${${read}}"`,
  ]);
  return [
    `name: ${drawing.name}`,
    'inputs: { word: { type: str } }',
    'blocks:',
    ...blocks.flatMap(({ lines }) => lines),
    'outputs:',
    ...outputs,
    `  last: "\${${blocks.at(-1)?.read ?? ''}}"`,
    '',
  ].join('\n');
}

function drawBlock(random: SeededRandom, { callees, mayFail }: Drawing, earlier: readonly Block[]): Block {
  const id = `b${earlier.length}`;
  const kinds: readonly Kind[] = [
    'effect',
    'effect',
    'items',
    'items',
    'confirm',
    'choice',
    'text',
    'interview',
    ...(callees.length > 0 ? (['call', 'calls'] as const) : []),
  ];
  const kind = random.pick(kinds);
  const needs = earlier.filter(() => random.chance(0.5)).map((block) => ({ block, isRequired: random.chance(0.7) }));
  const [first] = needs;
  const value = ['${word}', ...needs.map(({ block }) => `\${${block.read}}`)].join(' ');
  const isEach =
    kind === 'items' || kind === 'calls' || ((kind === 'text' || kind === 'interview') && random.chance(0.4));
  const condition = drawCondition(random, isEach, first?.block.id);
  // Every block that may fail is passed over, unless failures may fail the run.
  const passes = !mayFail || random.chance(0.6);
  const work = drawWork(random, { kind, isEach, value, callees, id });
  const needsText = needs.map(({ block, isRequired }) =>
    isRequired ? block.id : `{ block: ${block.id}, required: false }`,
  );
  return {
    id,
    read: isEach ? `default(${id}.count, 0)` : `default(${id}.${work.field}, 'none')`,
    lines: [
      `  - id: ${id}`,
      ...(needsText.length > 0 ? [`    depends_on: [${needsText.join(', ')}]`] : []),
      ...(condition === undefined ? [] : [`    condition: "${condition}"`]),
      ...(isEach ? drawEach(random, kind) : []),
      ...(passes ? ['    continue_on_error: true'] : []),
      ...work.lines,
    ],
  };
}

function drawCondition(random: SeededRandom, isEach: boolean, need: string | undefined): string | undefined {
  if (!random.chance(0.2)) return undefined;
  if (isEach) return '${each.index} != 1';
  return need === undefined ? "${word} == 'start'" : `\${blocks.${need}.succeeded}`;
}

function drawEach(random: SeededRandom, kind: Kind): readonly string[] {
  const isMapping = random.chance(0.3);
  const items = random.pick([1, 2, 3]);
  const keys = Array.from({ length: items }, (_, index) => `k${index}`);
  const over = isMapping ? `{ ${keys.map((key) => `${key}: of ${key}`).join(', ')} }` : `[${keys.join(', ')}]`;
  const isParallel = random.chance(0.6);
  const isBounded = isParallel && kind !== 'interview' && random.chance(0.4);
  return [
    `    for_each: ${over}`,
    ...(isParallel ? ['    for_each_mode: parallel'] : []),
    ...(isBounded ? ['    max_parallel: 2'] : []),
  ];
}

interface WorkDrawing {
  readonly kind: Kind;
  readonly isEach: boolean;
  readonly value: string;
  readonly callees: readonly string[];
  readonly id: string;
}

function drawWork(
  random: SeededRandom,
  { kind, isEach, value, callees, id }: WorkDrawing,
): { readonly lines: readonly string[]; readonly field: string } {
  const tag = isEach ? ' of ${each.key}' : '';
  switch (kind) {
    case 'confirm':
      return {
        field: 'confirmed',
        lines: ['    type: ConfirmOperation', `    inputs: { message: "${id} ${value}?", operation: go }`],
      };
    case 'choice':
      return {
        field: 'choice',
        lines: ['    type: AskChoice', `    inputs: { question: "${id} ${value}?", choices: [red, green, blue] }`],
      };
    case 'text':
      return { field: 'input_value', lines: ['    type: GetInput', `    inputs: { prompt: "${id} ${value}${tag}" }`] };
    case 'interview':
      return { field: 'value', lines: ['    type: Interview', `    inputs: { prompt: "${id} ${value}${tag}" }`] };
    case 'call':
    case 'calls':
      return {
        field: 'last',
        lines: [
          '    type: Workflow',
          `    inputs: { workflow: ${random.pick(callees)}, inputs: { word: "${value}${tag}" } }`,
        ],
      };
    default:
      return { field: 'value', lines: drawEffect(random, isEach, value) };
  }
}

function drawEffect(random: SeededRandom, isEach: boolean, value: string): readonly string[] {
  const type = random.pick(['Once', 'Again', 'Looked']);
  const attempts = random.pick([1, 1, 2, 3]);
  const failures = random.chance(0.3) ? 1 + random.integer(2) : 0;
  // After a crash reconcile would find a success; and of an item a person's word, which says less than its error, would be in the state.
  const failsAfter = type !== 'Looked' && (type === 'Again' || !isEach) && random.chance(0.1);
  const inputs = [
    `value: "${value}"`,
    ...(isEach ? ['tag: "${each.key}"'] : []),
    ...(attempts > 1 ? [`attempts: ${attempts}`] : []),
    ...(failures === 0 ? [] : [isEach ? `failures: "\${each.index == 0 ? ${failures} : 0}"` : `failures: ${failures}`]),
    ...(failsAfter ? ['failsAfter: true'] : []),
    ...(random.chance(0.5) ? [`latencyMs: ${1 + random.integer(20)}`] : []),
  ];
  return [
    `    type: ${type}`,
    ...(attempts > 1 ? [`    retry: { attempts: ${attempts}, delay: 500ms }`] : []),
    `    inputs: { ${inputs.join(', ')} }`,
  ];
}

/** The graph of a plan in one process. */
export function buildYamlPlan({ text, others }: YamlPlan, process: CrashProcess): Graph {
  return readWorkflow(text, { nodeTypes: yamlEffectTypes(process), workflows: textsOf(others) }).graph;
}

/** Answers follow from the prompt. */
function answerYamlPlan({ prompt = '', choices }: OpenQuestion): string {
  if (choices?.length === 3) return String(1 + (mixNumber(prompt) % 3));
  if (choices !== undefined) return mixNumber(prompt) % 3 === 0 ? 'no' : 'yes';
  // What was refused once is not said again.
  return mixNumber(prompt) % 3 === 0 && !prompt.includes('Not that') ? 'what?' : `answer ${mixNumber(prompt)}`;
}

export function yamlPlanCase(plan: YamlPlan): CrashCase {
  return {
    graph: (process) => buildYamlPlan(plan, process),
    input: yamlPlanInput,
    isScheduleFree: plan.isScheduleFree,
    mayFail: true,
    answer: answerYamlPlan,
  };
}
