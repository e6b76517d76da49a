/** Reads a workflow and all the workflows that it calls. Each is compiled once. */
import { CairnError } from '../../../errors.ts';
import type { WorkflowText, ReadOptions } from '../file/read-options.ts';
import { isMapping, type Faults } from '../file/shape.ts';
import type { CheckpointSettings, TextWorkflow } from '../../text-workflow.ts';
import { nearest, nearestFirst } from '../../../graph/nearest.ts';
import type { NodeContext } from '../../../graph/contracts/node-contract.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { refusalOf } from '../../../graph/permissions/permissions.ts';
import { shareBudget } from '../../../graph/expression/expression-budget.ts';
import { compileStoreRules } from '../../../state/secrecy/store-rules.ts';
import type { Redact } from '../../../state/values/admit.ts';
import { type LinkedWorkflow, callers } from '../block-nodes/callable-workflow.ts';
import { callTypes } from '../file/workflow-file.ts';
import { compileWorkflow, linked, type Call, type Compiled } from './compile-workflow.ts';
import type { Withheld } from '../block-nodes/block-scope.ts';

// The text recorded with a run: its workflow, and every workflow that it may call (H3).

export interface Bundle {
  readonly origin: 'file' | 'inline';
  /** Name of the workflow that is run. */
  readonly main: string;
  readonly text: WorkflowText;
  readonly others: ReadonlyMap<string, WorkflowText>;
  /** The default settings that applied. */
  readonly checkpoint: CheckpointSettings | undefined;
}

/** Writes a bundle. The same workflows give the same text. */
export function bundleText({ origin, main, text, others, checkpoint }: Bundle): string {
  const sorted = [...others].filter(([name]) => name !== main).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const workflows = Object.fromEntries(
    [[main, text] as const, ...sorted].map(([name, one]) => [name, { text: one.text, source: one.source }]),
  );
  const hasSettings = checkpoint !== undefined && Object.keys(checkpoint).length > 0;
  return JSON.stringify({ dialect: 'yaml', origin, main, ...(hasSettings && { checkpoint }), workflows });
}

/** Parses a bundle. @throws GRAPH_PARSE the text is not a bundle */
export function parseBundle(text: string): Bundle {
  const refuse = (reason: string): never => {
    throw new CairnError('GRAPH_PARSE', { file: 'the text kept with the run', reason });
  };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return refuse('it is not JSON');
  }
  if (
    !isMapping(data) ||
    data['dialect'] !== 'yaml' ||
    typeof data['main'] !== 'string' ||
    !isMapping(data['workflows'])
  )
    return refuse('it is no bundle of YAML workflows');
  const others = new Map<string, WorkflowText>();
  for (const [name, one] of Object.entries(data['workflows'])) {
    if (!isMapping(one) || typeof one['text'] !== 'string' || typeof one['source'] !== 'string')
      return refuse(`workflow ${name} has no text`);
    others.set(name, { text: one['text'], source: one['source'] });
  }
  const main = others.get(data['main']);
  if (main === undefined) return refuse(`workflow ${data['main']} is missing`);
  others.delete(data['main']);
  return {
    origin: data['origin'] === 'inline' ? 'inline' : 'file',
    main: data['main'],
    text: main,
    others,
    checkpoint: isMapping(data['checkpoint']) ? data['checkpoint'] : undefined,
  };
}

/** The default for how deep workflows may call workflows. */
const depthDefault = 32;

export class WorkflowLinker {
  readonly #options: ReadOptions;
  readonly #types: ReadonlyMap<string, NodeType>;
  readonly #compiled = new Map<string, Compiled>();
  /** Texts of the workflows that may be called, in the order of first use. */
  readonly #texts = new Map<string, WorkflowText>();
  /** Names of the workflows being compiled, beginning with the main one. */
  readonly #chain: string[] = [];
  /** For each of these, whether the call that led to it can be skipped, or can fail without failing its workflow. */
  readonly #skippable: boolean[] = [];
  readonly #main: WorkflowText;
  readonly #redact: Redact | undefined;
  #depth = depthDefault;
  #callsComputed = false;

  constructor(text: string, options: ReadOptions) {
    this.#options = options;
    // A user's own block replaces the dialect's block with the same name.
    this.#types = new Map([...callTypes, ...options.nodeTypes].map((type) => [type.name, type]));
    this.#redact = compileStoreRules(options.redact?.store);
    this.#main = { text, source: options.source ?? 'inline' };
  }

  /** Compiles the main workflow and those that it names. All evaluation shares one budget, because a file may contain many expressions. */
  compile(): Compiled {
    const { origin = 'file', permissions = {} } = this.#options;
    const withheld: Withheld | undefined = origin === 'file' ? undefined : (need) => refusalOf(need, permissions);
    const compiled = shareBudget(() => this.#compile(this.#main, withheld, true));
    // If it is called by its own name, it is this text with the same permissions.
    const [name] = this.#chain;
    if (name !== undefined) this.#compiled.set(name, compiled);
    return compiled;
  }

  #compile({ text, source }: WorkflowText, withheld: Withheld | undefined, isMain: boolean): Compiled {
    return compileWorkflow(text, source, {
      types: this.#types,
      checkpoint: this.#options.checkpoint ?? {},
      redact: this.#redact,
      withheld,
      onRead: ({ name, depth }) => {
        if (!isMain) return;
        this.#chain.push(name);
        this.#skippable.push(false);
        this.#depth = depth ?? depthDefault;
      },
      linkLiteral: (name, faults, call) => this.#linkLiteral(name, faults, call),
      link: (name, ctx, isRecursive) => this.#link(name, ctx, isRecursive),
      noteComputed: () => {
        this.#callsComputed = true;
      },
      graphText: ({ name }) => (isMain ? this.#bundle(name) : undefined),
    });
  }

  #linkLiteral(
    name: string,
    faults: Faults,
    { block, isSkippable, input = 'workflow' }: Call,
  ): TextWorkflow | undefined {
    const at = [...block.at, 'inputs', input];
    const chain = [...this.#chain, name];
    const before = this.#chain.indexOf(name);
    if (before >= 0) {
      if (isSkippable || this.#skippable.slice(before + 1).includes(true)) return undefined;
      const fix =
        'give one of the calls a condition, or continue_on_error to what it requires, which ends it; or take it out';
      faults.add(at, { rule: 'Y7', message: `workflows call each other in a circle: ${chain.join(' -> ')}`, fix });
      return undefined;
    }
    if (chain.length - 1 > this.#depth) {
      const fix = 'raise `limits.depth`, or call fewer workflows from each other';
      faults.add(at, {
        rule: 'Y7',
        message: `workflows call each other ${chain.length - 1} deep, over the limit of ${this.#depth}`,
        fix,
      });
      return undefined;
    }
    const compiled = this.#child(name, isSkippable);
    if (compiled === undefined) {
      const names = this.#names();
      const near = nearest(name, names);
      const known = names.length === 0 ? 'no workflows are known here' : `there are: ${names.slice(0, 20).join(', ')}`;
      faults.add(at, {
        rule: 'Y7',
        message: `there is no workflow ${name}`,
        fix: near === undefined ? known : `did you mean ${near}? ${known}`,
      });
      return undefined;
    }
    if (compiled.workflow === undefined) {
      const count = compiled.violations.filter(({ severity }) => severity === 'error').length;
      faults.add(at, {
        rule: 'Y7',
        message: `the workflow ${name} has ${count} fault${count === 1 ? '' : 's'}`,
        fix: 'correct it first',
      });
      faults.take(compiled.violations.filter(({ severity }) => severity === 'error').slice(0, 20));
    }
    return compiled.workflow;
  }

  #names(): readonly string[] {
    return this.#options.workflows?.names() ?? [];
  }

  /** Compiles the workflow with a name; undefined if there is none. */
  #child(name: string, isSkippable = false): Compiled | undefined {
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    const text = this.#options.workflows?.get(name);
    if (text === undefined) return undefined;
    this.#texts.set(name, text);
    this.#chain.push(name);
    this.#skippable.push(isSkippable);
    const compiled = this.#options.readOther?.(text) ?? this.#compile(text, undefined, false);
    this.#chain.pop();
    this.#skippable.pop();
    this.#compiled.set(name, compiled);
    return compiled;
  }

  /** Returns a workflow that is found during the run, for the node that runs it. */
  #link(name: string, ctx: NodeContext, isRecursive: boolean): LinkedWorkflow {
    const chain = callers(this.#chain[0] ?? '', ctx);
    if (chain.includes(name) && !isRecursive)
      throw new CairnError('WORKFLOW_CIRCULAR', { chain: [...chain, name].join(' -> ') });
    if (chain.length > this.#depth)
      throw new CairnError('RUN_LIMIT', { limit: 'depth', value: this.#depth, path: [...chain, name].join(' -> ') });
    const before = this.#chain.length;
    this.#chain.push(...chain.slice(1));
    this.#skippable.push(...chain.slice(1).map(() => false));
    const compiled = this.#child(name);
    this.#chain.length = before;
    this.#skippable.length = before;
    if (compiled === undefined) throw new CairnError('WORKFLOW_NOT_FOUND', { name, ...known(name, this.#names()) });
    if (compiled.workflow === undefined)
      throw new CairnError('GRAPH_INVALID', { graphId: name, violations: compiled.violations });
    return linked(compiled.workflow);
  }

  /** The saved text of a workflow that may be called. One of another dialect is saved as with a run of its own, with all that it needs. */
  #savedText(name: string, { text, source }: WorkflowText): WorkflowText {
    const read = this.#compiled.get(name) ?? this.#options.readOther?.({ text, source });
    return { text: read?.workflow?.graph.text ?? text, source };
  }

  /** Everything needed to compile the workflow again. */
  #bundle(name: string): string {
    const names = new Set([...this.#texts.keys(), ...(this.#callsComputed ? this.#names() : [])]);
    const others = new Map<string, WorkflowText>();
    for (const other of names) {
      const text = this.#texts.get(other) ?? this.#options.workflows?.get(other);
      if (text !== undefined) others.set(other, this.#savedText(other, text));
    }
    const { origin = 'file', checkpoint } = this.#options;
    return bundleText({ origin, main: name, text: this.#main, others, checkpoint });
  }
}

function known(name: string, names: readonly string[]): { readonly known?: readonly string[] } {
  return names.length === 0 ? {} : { known: nearestFirst(name, names).slice(0, 10) };
}
