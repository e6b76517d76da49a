/** Reads a workflow and all the workflows that it calls. Each is compiled once. */
import { CairnError } from '../../../errors.ts';
import type { WorkflowText, ReadOptions } from '../file/read-options.ts';
import { isMapping } from '../file/shape.ts';
import type { Faults } from '../file/faults.ts';
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
import type { Withheld } from '../block-nodes/input-templates.ts';

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
function bundleText({ origin, main, text, others, checkpoint }: Bundle): string {
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

/** Whether a text may do everything, or is held to the permissions: then so is all that it calls, but for what is granted by name. */
type Trust = 'trusted' | 'held';

export class WorkflowLinker {
  readonly #options: ReadOptions;
  readonly #types: ReadonlyMap<string, NodeType>;
  /** By name, those that may do everything, and those that are held to the permissions. */
  readonly #compiled = { trusted: new Map<string, Compiled>(), held: new Map<string, Compiled>() };
  /** Texts of the workflows that may be called, in the order of first use. */
  readonly #texts = new Map<string, WorkflowText>();
  /** Names of the workflows being compiled, beginning with the main one. */
  readonly #chain: string[] = [];
  /** For each of these, whether the call that led to it can be skipped, or can fail without failing its workflow. */
  readonly #skippable: boolean[] = [];
  readonly #main: WorkflowText;
  /** That of the main text. */
  readonly #trust: Trust;
  readonly #redact: Redact | undefined;
  #depth = depthDefault;
  /** Whose texts compute the name of a workflow that they run. */
  readonly #computing = new Set<Trust>();

  constructor(text: string, options: ReadOptions) {
    this.#options = options;
    // A user's own block replaces the dialect's block with the same name.
    this.#types = new Map([...callTypes, ...options.nodeTypes].map((type) => [type.name, type]));
    this.#redact = compileStoreRules(options.redact?.store);
    this.#main = { text, source: options.source ?? 'inline' };
    this.#trust = options.origin === 'inline' ? 'held' : 'trusted';
  }

  /** Compiles the main workflow and those that it names. All evaluation shares one budget, because a file may contain many expressions. */
  compile(): Compiled {
    return shareBudget(() => {
      const compiled = this.#compile(this.#main, this.#trust, true);
      // If it is called by its own name, it is this text with the same permissions.
      const [name] = this.#chain;
      if (name !== undefined) this.#compiled[this.#trust].set(name, compiled);
      return this.#options.checksCarried === true ? this.#withCarried(compiled) : compiled;
    });
  }

  /** Adds the faults of all texts that are carried, since a computed name may stand for any of them. */
  #withCarried({ workflow, violations }: Compiled): Compiled {
    const { carried } = this.#options;
    const others = (carried?.names() ?? []).flatMap((name) => this.#child(name, 'held')?.violations ?? []);
    const seen = new Map([...violations, ...others].map((one) => [`${one.place} ${one.message}`, one]));
    const all = [...seen.values()];
    return { workflow: all.some(({ severity }) => severity === 'error') ? undefined : workflow, violations: all };
  }

  #withheld: Withheld = (need) => refusalOf(need, this.#options.permissions ?? {});

  #compile({ text, source }: WorkflowText, trust: Trust, isMain: boolean): Compiled {
    return compileWorkflow(text, source, {
      types: this.#types,
      checkpoint: this.#options.checkpoint ?? {},
      redact: this.#redact,
      withheld: trust === 'trusted' ? undefined : this.#withheld,
      onRead: ({ name, depth }) => {
        if (!isMain) return;
        this.#chain.push(name);
        this.#skippable.push(false);
        this.#depth = depth ?? depthDefault;
      },
      linkLiteral: (name, faults, call) => this.#linkLiteral(name, trust, faults, call),
      link: (name, ctx, isRecursive) => this.#link(name, trust, ctx, isRecursive),
      noteComputed: () => {
        this.#computing.add(trust);
      },
      graphText: ({ name }) => (isMain ? this.#bundle(name) : undefined),
    });
  }

  #linkLiteral(
    name: string,
    trust: Trust,
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
    const refusal = this.#refusal(name, trust);
    if (refusal !== undefined) {
      const fix = 'take the call out, or ask the operator for the grant';
      faults.add(at, { rule: 'Y6', message: `${block.type} is not allowed here: ${refusal}`, fix });
      return undefined;
    }
    const compiled = this.#child(name, trust, isSkippable);
    if (compiled === undefined) {
      const names = this.#names(trust);
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
      const errors = compiled.violations.filter(({ severity }) => severity === 'error');
      // What it lacks is a grant: nothing in it is to be corrected.
      if (!errors.every(({ rule }) => rule === 'Y6'))
        faults.add(at, {
          rule: 'Y7',
          message: `the workflow ${name} has ${errors.length} fault${errors.length === 1 ? '' : 's'}`,
          fix: 'correct it first',
        });
      faults.take(errors.slice(0, 20));
    }
    return compiled.workflow;
  }

  /** The names that a text may call, for hints, and for what is saved with a run. */
  #names(trust: Trust): readonly string[] {
    const own = this.#options.workflows?.names() ?? [];
    if (trust === 'trusted') return own;
    const granted = own.filter((name) => this.#withheld({ kind: 'workflow', name }) === undefined);
    return [...new Set([...(this.#options.carried?.names() ?? []), ...granted])];
  }

  /**
   * What a name stands for. A text that is held runs what it carries, held as well; what the operator has under this name it runs only if
   * that is granted, and, if it carries a text of this name too, only if that is the same text.
   */
  #find(name: string, trust: Trust): (WorkflowText & { readonly trust: Trust }) | undefined {
    const { workflows, carried } = this.#options;
    const own = workflows?.get(name);
    const text = trust === 'trusted' ? undefined : carried?.get(name);
    const isGranted = trust === 'trusted' || this.#withheld({ kind: 'workflow', name }) === undefined;
    if (own !== undefined && isGranted && (text === undefined || this.#isSame(text, own)))
      return { ...own, trust: 'trusted' };
    return text && { ...text, trust: 'held' };
  }

  #isSame(carried: WorkflowText, own: WorkflowText): boolean {
    if (carried.text === own.text) return true;
    const read = this.#options.readOther?.(own, 'file');
    return read?.workflow?.graph.text === carried.text;
  }

  /** Whether a name stands for the main text, whoever else bears it. */
  #isItself(name: string, caller: Trust): boolean {
    return this.#chain[0] === name && caller === this.#trust;
  }

  /** Why a text may not call the workflow of this name; undefined if it may, or if there is none. */
  #refusal(name: string, trust: Trust): string | undefined {
    if (this.#isItself(name, trust) || this.#find(name, trust) !== undefined) return undefined;
    return this.#options.workflows?.get(name) && this.#withheld({ kind: 'workflow', name });
  }

  /** Compiles the workflow that a text calls by a name; undefined if there is none that it may call. */
  #child(name: string, caller: Trust, isSkippable = false): Compiled | undefined {
    const itself = this.#isItself(name, caller) ? this.#compiled[caller].get(name) : undefined;
    const found = itself === undefined ? this.#find(name, caller) : undefined;
    if (found === undefined) return itself;
    const { trust, ...text } = found;
    const known = this.#compiled[trust].get(name);
    if (known !== undefined) return known;
    // What is carried is saved again, whatever of the operator's bears the same name.
    if (trust === 'held' || !this.#texts.has(name)) this.#texts.set(name, text);
    this.#chain.push(name);
    this.#skippable.push(isSkippable);
    const compiled =
      this.#options.readOther?.(text, trust === 'held' ? 'inline' : 'file') ?? this.#compile(text, trust, false);
    this.#chain.pop();
    this.#skippable.pop();
    this.#compiled[trust].set(name, compiled);
    return compiled;
  }

  /** Returns a workflow that is found during the run, for the node that runs it. */
  #link(name: string, caller: Trust, ctx: NodeContext, isRecursive: boolean): LinkedWorkflow {
    const chain = callers(this.#chain[0] ?? '', ctx);
    if (chain.includes(name) && !isRecursive)
      throw new CairnError('WORKFLOW_CIRCULAR', { chain: [...chain, name].join(' -> ') });
    if (chain.length > this.#depth)
      throw new CairnError('RUN_LIMIT', { limit: 'depth', value: this.#depth, path: [...chain, name].join(' -> ') });
    const refusal = this.#refusal(name, caller);
    if (refusal !== undefined) throw new CairnError('PERMISSION_DENIED', { need: `workflow ${name}`, reason: refusal });
    const before = this.#chain.length;
    this.#chain.push(...chain.slice(1));
    this.#skippable.push(...chain.slice(1).map(() => false));
    const compiled = this.#child(name, caller);
    this.#chain.length = before;
    this.#skippable.length = before;
    if (compiled === undefined)
      throw new CairnError('WORKFLOW_NOT_FOUND', { name, ...known(name, this.#names(caller)) });
    if (compiled.workflow === undefined) throw faultsOf(name, compiled);
    return linked(compiled.workflow);
  }

  /** The saved text of a workflow that may be called. One of another dialect is saved as with a run of its own, with all that it needs. */
  #savedText(name: string, { text, source }: WorkflowText): WorkflowText {
    const read = this.#compiled.trusted.get(name) ?? this.#options.readOther?.({ text, source }, 'file');
    return { text: read?.workflow?.graph.text ?? text, source };
  }

  /** What computed names may stand for, and what that may call: a workflow of the operator that is granted calls any of the operator's. */
  #computedNames(): readonly string[] {
    const own = this.#options.workflows?.names() ?? [];
    const isGranted = (name: string): boolean => this.#withheld({ kind: 'workflow', name }) === undefined;
    const mayCallOwn = this.#computing.has('trusted') || (this.#computing.has('held') && own.some(isGranted));
    return mayCallOwn ? own : [];
  }

  /** Everything needed to compile the workflow again. */
  #bundle(name: string): string {
    const { origin = 'file', checkpoint, workflows, carried } = this.#options;
    const names = new Set([...this.#texts.keys(), ...this.#computedNames(), ...(carried?.names() ?? [])]);
    const others = new Map<string, WorkflowText>();
    for (const other of names) {
      const text = this.#texts.get(other) ?? workflows?.get(other);
      const saved = carried?.get(other) ?? (text && this.#savedText(other, text));
      if (saved !== undefined) others.set(other, saved);
    }
    return bundleText({ origin, main: name, text: this.#main, others, checkpoint });
  }
}

/** What keeps a workflow from being run, found during the run. */
function faultsOf(name: string, { violations }: Compiled): CairnError {
  const errors = violations.filter(({ severity }) => severity === 'error');
  if (!errors.every(({ rule }) => rule === 'Y6')) return new CairnError('GRAPH_INVALID', { graphId: name, violations });
  const reason = errors.map(({ message }) => message).join('; ');
  return new CairnError('PERMISSION_DENIED', { need: errors[0]?.place, reason, violations });
}

function known(name: string, names: readonly string[]): { readonly known?: readonly string[] } {
  return names.length === 0 ? {} : { known: nearestFirst(name, names).slice(0, 10) };
}
