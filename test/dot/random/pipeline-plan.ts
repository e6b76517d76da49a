/** A random pipeline as plain data: its stages, its edges, and how each stage ends at each attempt. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** How one attempt of a task ends. */
export interface TaskEnd {
  /** `throws` is a fault of the handler, which tells no outcome. */
  readonly status: 'success' | 'partial_success' | 'retry' | 'fail' | 'skipped' | 'throws';
  readonly label?: string;
  /** The stage that it suggests. */
  readonly next?: string;
  /** What it writes into the context as `flag`. */
  readonly flag?: 'yes' | 'no';
  /** How long it takes, in milliseconds. */
  readonly takesMs?: number;
}

export interface StagePlan {
  readonly id: string;
  /** A `pause` is a timer on record, of its `pause_ms`; a `child` runs a pipeline, and may oversee it. */
  readonly kind: 'start' | 'exit' | 'task' | 'pause' | 'diamond' | 'human' | 'parallel' | 'fan_in' | 'child';
  readonly attributes: Attributes;
  /** Of a task: one for each attempt of all its visits; the last one holds for all later attempts. */
  readonly ends?: readonly TaskEnd[];
  /** Of a parallel stage: where its branches come together. */
  readonly join?: string;
  /** Of a stage that steers a pipeline: the clauses of its `manager.stop_condition`, and how long its model takes for a look. */
  readonly stops?: readonly string[];
  readonly looksMs?: number;
}

/** What the model says that looks at a pipeline, by the number that it drew; undefined: nothing that can be read. */
export function lookAt(pick: number): { readonly outcome: string; readonly message?: string } | undefined {
  const word = `word ${pick % 1_000}`;
  const said = [
    undefined,
    { outcome: 'success' },
    { outcome: 'success' },
    { outcome: 'success', message: word },
    { outcome: 'success', message: word },
    { outcome: 'success', message: word },
    { outcome: 'fail', message: `stopped at ${word}` },
    { outcome: 'fail' },
  ];
  return said[pick % said.length];
}

export interface EdgePlan {
  readonly from: string;
  readonly to: string;
  /** Clauses that all must hold, such as `outcome=fail`. */
  readonly clauses: readonly string[];
  readonly label?: string;
  readonly weight?: number;
  readonly restarts?: true;
}

export interface PipelinePlan {
  readonly name: string;
  readonly attributes: Attributes;
  readonly stages: readonly StagePlan[];
  readonly edges: readonly EdgePlan[];
  /** The pipelines that its stages run, by file. */
  readonly children: Readonly<Record<string, PipelinePlan>>;
}

const shapes: Readonly<Record<StagePlan['kind'], string>> = {
  start: 'Mdiamond',
  exit: 'Msquare',
  task: 'box',
  pause: 'box',
  diamond: 'diamond',
  human: 'hexagon',
  parallel: 'component',
  fan_in: 'tripleoctagon',
  child: 'house',
};

/** The pipeline as DOT text. */
export function textOfPlan({ name, attributes, stages, edges }: PipelinePlan): string {
  const lines = [
    ...(Object.keys(attributes).length > 0 ? [`graph ${listed(attributes)}`] : []),
    ...stages.map(({ id, kind, attributes: own, stops }) => {
      const more: Attributes = {
        ...(kind === 'pause' && { type: 'pause' }),
        ...(stops !== undefined && { 'manager.stop_condition': stops.join(' && ') }),
      };
      return `${id} ${listed({ shape: shapes[kind], ...own, ...more })}`;
    }),
    ...edges.map(({ from, to, clauses, label, weight, restarts }) => {
      const own: Attributes = {
        ...(clauses.length > 0 && { condition: clauses.join(' && ') }),
        ...(label !== undefined && { label }),
        ...(weight !== undefined && { weight }),
        ...(restarts !== undefined && { loop_restart: true }),
      };
      return `${from} -> ${to}${Object.keys(own).length > 0 ? ` ${listed(own)}` : ''}`;
    }),
  ];
  return `digraph ${name} {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;
}

function listed(attributes: Attributes): string {
  const told = Object.entries(attributes).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `[${told.join(', ')}]`;
}

/** The pipeline as a failing test shows it: its text, those of its children, and how its tasks end. */
export function describePlan(plan: PipelinePlan): string {
  const ends = plan.stages.flatMap(({ id, ends: own = [], looksMs }) => {
    const isPlain = own.every(({ status, ...more }) => status === 'success' && Object.keys(more).length === 0);
    return [
      ...(isPlain ? [] : [`  ${id} ends: ${JSON.stringify(own)}\n`]),
      ...(looksMs === undefined ? [] : [`  the model of ${id} looks for ${looksMs} ms\n`]),
    ];
  });
  return [textOfPlan(plan), ...ends, ...Object.values(plan.children).map(describePlan)].join('');
}
