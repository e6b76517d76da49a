/** Random workflow files of what both dialects share: converted to pipelines, they go the same way (CV1, CV2). */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { verdictSchema } from '../../src/dialects/convert/outline/outline.ts';
import { checkWorkflow } from '../../src/dialects/yaml/index.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { converted, wayOf, worldOf } from '../convert-kit.ts';
import { scale } from '../support/scale.ts';

const nodeTypes = createNodeTypes();

type Kind = 'Shell' | 'LLMCall' | 'Judge' | 'AskChoice' | 'ConfirmOperation' | 'GetInput';
interface Block {
  readonly kind: Kind;
  readonly said: string;
  readonly attempts: number;
  readonly passes: 'no' | 'block' | 'command';
  readonly requires: boolean;
  readonly tests: readonly {
    readonly of: number;
    readonly what: number;
    readonly isDenied: boolean;
    readonly joins: 'and' | 'or';
  }[];
}

const block: fc.Arbitrary<Block> = fc.record({
  kind: fc.constantFrom<Kind>('Shell', 'Shell', 'LLMCall', 'Judge', 'AskChoice', 'ConfirmOperation', 'GetInput'),
  said: fc.constantFrom(
    'plain',
    '${p}',
    '${inputs.p}!',
    '$${x}',
    '$z q',
    '"${p}" ${inputs.q}',
    "it's",
    '$HOME',
    '#',
    '${q}${p}',
  ),
  attempts: fc.integer({ min: 1, max: 3 }),
  passes: fc.constantFrom('no', 'block', 'command'),
  requires: fc.boolean(),
  tests: fc.array(
    fc.record({ of: fc.nat(5), what: fc.nat(5), isDenied: fc.boolean(), joins: fc.constantFrom('and', 'or') }),
    { maxLength: 3 },
  ),
});

function test_(blocks: readonly Block[], { of, what, isDenied }: Block['tests'][number], before: number): string {
  const id = of % before;
  const kind = blocks[id]?.kind;
  const own: Readonly<Record<string, readonly string[]>> = {
    Shell: [`b${id}.exit_code == 0`, `b${id}.success`],
    Judge: [`b${id}.response.outcome == 'success'`, `blocks.b${id}.response.outcome != 'fail'`],
    AskChoice: [`b${id}.choice == 'one'`, `b${id}.choice_index > 0`],
    ConfirmOperation: [`b${id}.confirmed`, `not b${id}.confirmed`],
  };
  const atoms = [
    `blocks.b${id}.succeeded`,
    `blocks.b${id}.failed`,
    `blocks.b${id}.skipped`,
    `blocks.b${id}.status == 'completed'`,
  ];
  const fields = (own[kind ?? ''] ?? []).map((field) =>
    what % 2 === 0 ? field : `(blocks.b${id}.succeeded and ${field})`,
  );
  const all = [...atoms, ...fields];
  const atom = all[what % all.length] ?? 'true';
  return isDenied ? `not (${atom})` : atom;
}

/** Each block behind the one before it, so that none runs beside another. */
function write(blocks: readonly Block[]): string {
  const texts: Readonly<Record<Kind, (one: Block, id: string) => object>> = {
    Shell: ({ said, passes }, id) => ({
      command: said.includes('"') || said.includes("'") ? `run ${id} ${said.replace("'", '')}` : `run ${id} "${said}"`,
      ...(passes === 'command' && { 'continue-on-error': true }),
    }),
    LLMCall: ({ said, attempts }, id) => ({
      prompt: `${id} ${said.replace('${q}${p}', '${q} ${p}')}`,
      max_retries: attempts,
      retry_delay: 0,
      timeout: 1800,
    }),
    Judge: (_, id) => ({ prompt: id, response_schema: verdictSchema([]), max_retries: 1, timeout: 1800 }),
    AskChoice: (_, id) => ({ question: id, choices: ['one', 'two'] }),
    ConfirmOperation: (_, id) => ({ message: id, operation: id }),
    GetInput: (_, id) => ({ prompt: id }),
  };
  return stringify({
    name: 'random',
    inputs: { p: { type: 'str', default: 'v 1' }, q: { type: 'str', default: '' } },
    blocks: blocks.map((one, index) => {
      const id = `b${index}`;
      const condition = one.tests
        .map(
          (each, place) =>
            `${place === 0 ? '' : ` ${each.joins} `}(${index === 0 ? '1 == 1' : test_(blocks, each, index)})`,
        )
        .join('');
      return {
        id,
        type: one.kind === 'Judge' ? 'LLMCall' : one.kind,
        ...(index > 0 && {
          depends_on: [one.requires ? `b${index - 1}` : { block: `b${index - 1}`, required: false }],
        }),
        ...(condition !== '' && { condition }),
        ...(one.passes === 'block' && one.kind !== 'LLMCall' && one.kind !== 'Judge' && { continue_on_error: true }),
        ...(one.kind === 'Shell' &&
          one.attempts > 1 && { retry: { attempts: one.attempts, delay: '200ms', factor: 2, jitter: 0.5 } }),
        inputs: texts[one.kind](one, id),
      };
    }),
  });
}

const workflow = fc.array(block, { minLength: 1, maxLength: 6 }).map(write);
const isValid = (text: string): boolean => checkWorkflow(text, { nodeTypes }).workflow !== undefined;

test(
  'CV1 P5 a workflow file that is converted, and converted back, does, asks and ends as it did; of what is shared nothing is lost',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(workflow.filter(isValid), fc.integer(), async (text, seed) => {
        const { text: dot, lost } = converted(text);
        // Here no call fails that is asked for a verdict.
        expect(lost.filter((one) => !one.includes('goes the way of its verdict'))).toEqual([]);
        const way = await wayOf(text, worldOf(seed));
        expect(await wayOf(dot, worldOf(seed))).toEqual(way);
        expect(await wayOf(converted(dot).text, worldOf(seed))).toEqual(way);
      }),
      { numRuns: scale(80, 400) },
    );
  },
);

test(
  'CV2 a workflow file that is converted there and back converts to the same text again',
  { timeout: 300_000 },
  () => {
    fc.assert(
      fc.property(workflow.filter(isValid), (text) => {
        const dot = converted(text).text;
        const again = converted(converted(dot).text).text;
        expect(converted(converted(again).text).text).toBe(again);
      }),
      { numRuns: scale(60, 300) },
    );
  },
);
