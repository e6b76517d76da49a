/** Random pipelines of what both dialects share: converted, they go the same way, and back again they are the same text (CV1, CV2). */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkDot } from '../../src/dialects/dot/index.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { converted, wayOf, worldOf } from '../convert-kit.ts';

const nodeTypes = createNodeTypes();

/** Texts that mean something in one dialect or the other. */
const hostile = fc.constantFrom(
  'plain', '${x}', '$${x}', '{{ inputs.p }}', '{% if p %}', '$goal', '$p', 'p: [', "it's", 'a "b"', '$', 'yes', '#', '${', '- a\n  b', '\\n', ' x ',
); // prettier-ignore

type Kind = 'tool' | 'box' | 'judge' | 'choice' | 'yes_no' | 'freeform' | 'diamond';
interface Stage {
  readonly kind: Kind;
  readonly said: string;
  readonly retries: number;
  readonly isPartial: boolean;
  readonly isIdempotent: boolean;
  readonly weight: number;
  readonly form: number;
  readonly to: readonly number[];
}

const stage: fc.Arbitrary<Stage> = fc.record({
  kind: fc.constantFrom<Kind>('tool', 'tool', 'box', 'judge', 'choice', 'yes_no', 'freeform', 'diamond'),
  said: hostile,
  retries: fc.nat(2),
  isPartial: fc.boolean(),
  isIdempotent: fc.boolean(),
  weight: fc.nat(2),
  form: fc.nat(4),
  to: fc.array(fc.nat(3), { minLength: 3, maxLength: 3 }),
});

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, (mark) => `\\${mark}`)}"`;

/** Edges lead forwards, so that there are no loops. */
function write(stages: readonly Stage[]): string {
  const nameOf = (index: number): string => (index < stages.length ? `s${index}` : 'exit');
  const lines = stages.flatMap((one, index) => {
    const id = `s${index}`;
    const [a = '', b = '', c = ''] = one.to.map((step) => nameOf(index + 1 + step));
    const retry = one.retries > 0 ? `, max_retries=${one.retries}` : '';
    const work = `${retry}${one.isPartial ? ', allow_partial=true' : ''}`;
    const ways: Readonly<Record<number, readonly string[]>> = {
      0: [`${id} -> ${a}`],
      1: [`${id} -> ${a} [condition="outcome=success"]`, `${id} -> ${b} [condition="outcome=fail"]`],
      2: [`${id} -> ${a} [weight=${one.weight}]`, `${id} -> ${b} [condition="outcome!=success"]`, `${id} -> ${c}`],
      3: [`${id} -> ${a} [weight=${one.weight}]`, `${id} -> ${b} [weight=1]`],
      4: [`${id} -> ${a} [condition="context.current_node=${id} && outcome=success"]`, `${id} -> ${b}`],
    };
    const own = ways[one.form] ?? [];
    switch (one.kind) {
      case 'tool':
        return [
          `${id} [shape=parallelogram, tool_command=${quoted(`${id} ${one.said}`)}, idempotent=${String(one.isIdempotent)}${work}]`,
          ...own,
        ];
      case 'box':
        return [`${id} [prompt=${quoted(`${id} ${one.said}`)}, fidelity=truncate${retry}]`, `${id} -> ${a}`];
      case 'judge':
        return [
          `${id} [prompt=${quoted(`${id} ${one.said}`)}, fidelity=truncate]`,
          ...(own.length > 1 ? own : [`${id} -> ${a} [label=go]`, `${id} -> ${b} [condition="outcome=fail"]`]),
        ];
      case 'diamond':
        return [`${id} [shape=diamond]`, ...own];
      case 'choice':
        return [
          `${id} [shape=hexagon, label=${quoted(`${one.said}?`)}]`,
          `${id} -> ${a} [label="[A] one"]`,
          `${id} -> ${b} [label=${quoted(`two ${one.said.trim()}`)}]`,
          `${id} -> ${c}`,
        ];
      case 'yes_no':
        return [
          `${id} [shape=hexagon, human.type=${one.isPartial ? 'yes_no' : 'confirmation'}, label=ask]`,
          `${id} -> ${a} [label=Yes]`,
          `${id} -> ${b} [label=No]`,
        ];
      default:
        return [`${id} [shape=hexagon, human.type=freeform, label=${quoted(one.said)}]`, `${id} -> ${a}`];
    }
  });
  return `digraph random {\ngraph [params="p=v ${stages.length}, x=1"]\nstart [shape=Mdiamond]\nexit [shape=Msquare]\nstart -> s0\n${lines.join('\n')}\n}\n`;
}

/** It begins with a command: a workflow without a block is none. */
const pipeline = fc
  .tuple(stage, fc.array(stage, { maxLength: 6 }))
  .map(([first, rest]) => write([{ ...first, kind: 'tool' }, ...rest]));
const isValid = (text: string): boolean => checkDot(text, { nodeTypes }).workflow !== undefined;

test(
  'CV1 P5 a pipeline that is converted, and converted back, does, asks and ends as it did; of what is shared nothing is lost',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(pipeline.filter(isValid), fc.integer(), async (text, seed) => {
        const { text: yaml, lost } = converted(text);
        // YAML has no word for it.
        expect(lost.filter((told) => !told.includes('allow_partial'))).toEqual([]);
        const way = await wayOf(text, worldOf(seed));
        expect(await wayOf(yaml, worldOf(seed))).toEqual(way);
        expect(await wayOf(converted(yaml).text, worldOf(seed))).toEqual(way);
      }),
      { numRuns: 80 },
    );
  },
);

test('CV2 a pipeline that is converted there and back converts to the same text again', { timeout: 300_000 }, () => {
  fc.assert(
    fc.property(pipeline.filter(isValid), (text) => {
      const yaml = converted(text).text;
      const back = converted(yaml);
      expect(converted(back.text).text).toBe(yaml);
    }),
    { numRuns: 100 },
  );
});
