/** What the DOT dialect costs: reading and judging a large file, a ten times larger one, and a stage beside the same node of a TypeScript graph. */
import type { StageHandler } from '../../src/dialects/dot/index.ts';
import { AgentGraph, END, START, outcome, type Graph } from '../../src/index.ts';
import type { Group } from '../group.ts';
import { millis } from '../millis.ts';
import { makeList } from '../payload.ts';
import { timePerNode } from '../time-run.ts';

const count = 1_000;
const lint = '1,000-node DOT file: parse, lint';
const grow = '10,000-node DOT file: parse, lint, compile';
const stage = 'a DOT stage, NORMAL, per node';

/** As a person writes: prompts of a few lines, diamonds that lead on and back, commands. A tenth of its stages are goal gates. */
function fileText(size: number): string {
  const stages = makeList(size / 4, (index) => {
    const next = index + 1 < size / 4 ? `plan${index + 1}` : 'exit';
    return `  plan${index} [prompt="Plan part ${index} of $goal.\nSay which files change, and why. // in one line each", max_retries=2]
  make${index} [shape=parallelogram, tool_command="make part-${index} > out-${index}.txt", timeout=900s, retry_target=plan${index}]
  review${index} [prompt="Review part ${index}.", goal_gate=${index % 3 === 0}, retry_target=plan${index}, class="careful,slow"]
  done${index} [shape=diamond, label="Part ${index} done?"]
  plan${index} -> make${index} -> review${index} -> done${index}
  done${index} -> ${next} [label="Yes", condition="outcome=success && context.part!=open", weight=2]
  done${index} -> plan${index} [label="No", condition="outcome!=success"]`;
  });
  return `digraph Large {
  graph [goal="everything", model_stylesheet="* { llm_model: small } .careful { llm_model: large; reasoning_effort: high }"]
  start [shape=Mdiamond]
  exit [shape=Msquare]
  start -> plan0
${stages.join('\n')}
}
`;
}

const chainText = (): string => {
  const ids = makeList(count, (index) => `s${index}`);
  return `digraph chain {\n  start [shape=Mdiamond]\n  exit [shape=Msquare]\n  node [type=work]\n  ${ids.join('; ')}\n  start -> ${ids.join(' -> ')} -> exit\n}\n`;
};

/** What a stage leaves behind: its outcome, the context, and a line of the history. */
function chainInTypeScript(): Graph {
  const graph: AgentGraph = new AgentGraph(
    {},
    { id: 'chain', checkpointPolicy: 'every_node', reducers: { 'diagnostics.history': 'append' } },
  );
  for (let index = 0; index < count; index += 1) {
    const id = `s${index}`;
    graph.addNode(id, () =>
      outcome({
        output: { outcome: 'success' },
        scratch: {
          current_node: id,
          last_stage: id,
          outcome: 'success',
          part: index,
          'internal.failure_reason': '',
          'internal.edge': `edge ${index + 1}`,
        },
        diagnostics: { history: [{ stage: id, outcome: 'success' }] },
      } as never),
    );
    graph.addEdge(index === 0 ? START : `s${index - 1}`, id);
  }
  return graph.addEdge(`s${count - 1}`, END).compile().graph;
}

const work: StageHandler = {
  run: ({ parts }) => ({ status: 'success', contextUpdates: { part: Number(parts.stage.id.slice(1)) } }),
};

/** What takes a few milliseconds is measured ten times over. */
const times = (act: () => void) => (): void => {
  for (let round = 0; round < 10; round += 1) act();
};

export const dot: Group = {
  rows: [
    { name: lint, against: 'splitting it into words', target: 3 },
    { name: grow, against: 'the same with 1,000', target: 12 },
    { name: stage, against: 'a TypeScript node that leaves the same', target: 1.2 },
  ],
  warmUps: 5,
  prepare: async (folder) => {
    // Loaded here, so that the rows of others measure processes without it.
    const [
      { checkDot, readDot },
      { DotFaults },
      { Scanner },
      { parseDot },
      { readPipeline },
      { layOut },
      lints,
      reports,
    ] = await Promise.all([
      import('../../src/dialects/dot/index.ts'),
      import('../../src/dialects/dot/text/faults.ts'),
      import('../../src/dialects/dot/text/scanner.ts'),
      import('../../src/dialects/dot/text/parse-dot.ts'),
      import('../../src/dialects/dot/model/read-pipeline.ts'),
      import('../../src/dialects/dot/model/layout.ts'),
      import('../../src/dialects/dot/lint/lint-pipeline.ts'),
      import('../../src/dialects/dot/lint/report.ts'),
    ]);
    const file = fileText(count);
    const large = fileText(count * 10);
    for (const text of [file, large]) {
      const { workflow, violations } = checkDot(text);
      if (workflow === undefined)
        throw new Error(violations.find(({ severity }) => severity === 'error')?.message ?? 'it is not valid');
    }
    const splitIntoWords = (): void => {
      const scanner = new Scanner(file, new DotFaults(file, 'file'));
      while (scanner.next().kind !== 'end');
    };
    const parseAndLint = (): void => {
      const faults = new DotFaults(file, 'file');
      const pipeline = readPipeline(parseDot(file, faults), faults);
      lints.lintPipeline(reports.createReport(faults, pipeline, layOut(pipeline), new Set()));
    };
    const chain = readDot(chainText(), { handlers: { work } }).graph;
    const typescript = chainInTypeScript();
    return {
      repeat: async () => ({
        [lint]: { floor: millis(times(splitIntoWords)), ours: millis(times(parseAndLint)), unit: 'ms' },
        [grow]: { floor: millis(() => readDot(file)), ours: millis(() => readDot(large)), unit: 'ms' },
        [stage]: {
          floor: await timePerNode(typescript, folder, count),
          ours: await timePerNode(chain, folder, count),
          unit: 'us',
        },
      }),
    };
  },
};
