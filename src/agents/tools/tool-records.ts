/** What is on record of the tool calls of a visit. It stands, whatever the tools are now (A4). */
import { resultAt } from '../../graph/runnable-graph.ts';
import type { PastStep } from '../../graph/contracts/visit-past.ts';
import { NodeFailure, type EffectClass, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { ResultNote } from '../turn-note.ts';
import { observation, type Observation } from './observation.ts';
import { questionName } from './approval.ts';
import { isComposed, type NamedTool } from './tool-box.ts';

/** As what a call began: as one step of a function, as a child run, or as the calls that a composed tool makes. */
export type Begun = 'step' | 'child' | 'parts';

/** The call that a name belongs to: a step of it, a question about it, or a call that its composed tool made. */
const owner = /^tool \S+ \S+(?: \d+)?(?= |$)/u;
const approve = questionName('');

/**
 * The name of one of several equal calls.
 * @param name - the name of the first of them
 * @param nth - the call's number among them, counted from 1
 */
export function nthName(name: string, nth: number): string {
  return nth === 1 ? name : `${name} ${nth}`;
}

/** The tool in a call's name. */
export function toolOfName(name: string): string {
  return name.split(' ')[1] as string;
}

interface Index {
  readonly steps: ReadonlyMap<string, PastStep>;
  /** All recorded names of a call, by its own name. */
  readonly names: ReadonlyMap<string, readonly string[]>;
}

export class ToolRecords {
  readonly #ctx: NodeContext;
  readonly #prefix: string;
  #index: Index | undefined;

  /** @param prefix - with which the names of the calls begin */
  constructor(ctx: NodeContext, prefix = '') {
    this.#ctx = ctx;
    this.#prefix = prefix;
  }

  /** What is on record changes: it is about to be retired. */
  forget(): void {
    this.#index = undefined;
  }

  /** @param from - name of the call. Undefined: it has not begun, though a person may have been asked about it */
  beganAs(from: string): Begun | undefined {
    if (this.#read().steps.has(from)) return 'step';
    if (this.#ctx.past.childOf(from) !== undefined) return 'child';
    return this.#partsOf(from).length > 0 ? 'parts' : undefined;
  }

  /** Whether a call that began like this goes on with this tool. */
  fits(from: string, begun: Begun, { definition, graph }: NamedTool): boolean {
    if (begun === 'parts') return isComposed(definition);
    if (begun === 'step') return graph === undefined && !isComposed(definition);
    const before = this.#ctx.past.childOf(from)?.graph;
    return graph !== undefined && (before === undefined || before === graph.id);
  }

  /** Whether a call of this name, or an equal one behind it, has begun. */
  isAnyBegun(name: string): boolean {
    for (let nth = 1; ; nth += 1) {
      const from = nthName(name, nth);
      if (this.#namesOf(from).length === 0) return false;
      if (this.beganAs(from) !== undefined) return true;
    }
  }

  /** Names of the tools of which calls are on record. */
  tools(): ReadonlySet<string> {
    return new Set(Array.from(this.#read().names.keys(), (from) => toolOfName(from.slice(this.#prefix.length))));
  }

  /**
   * The recorded result of a step whose function is gone or another now. If its end is not on record, the engine judges whether it
   * happened; one that did not is a failure of the tool, so that the model may call the tool as it is now.
   */
  endOfStep(step: string, tool: string, args: unknown): Promise<unknown> {
    const { effect = 'external' } = this.stepOf(step) ?? {};
    const about = `${tool} ${encodeValue(args)}`;
    const options = { effect: effect as EffectClass, input: args, knownByName: true, about };
    return this.#ctx.step(step, options, () => {
      const reason = 'it was not made, and the tool has changed since; call it again';
      throw new NodeFailure(reason, { code: 'TOOL_CHANGED', applied: 'no' });
    });
  }

  stepOf(from: string): PastStep | undefined {
    return this.#read().steps.get(from);
  }

  /** The effects that its composed tool began. */
  innerEffects(from: string): readonly PastStep[] {
    const steps = this.#partsOf(from).flatMap((name) => this.#read().steps.get(name) ?? []);
    return steps.filter(({ effect }) => effect === 'write' || effect === 'external');
  }

  /** What the model was told of a call, from the record; undefined if the record has no result of it. */
  told(note: ResultNote): Observation | undefined {
    const { from, isError, whole, node, isCached } = note;
    const seen = {
      ...(isError && { isError }),
      ...(whole !== undefined && { whole }),
      ...(node !== undefined && { node }),
      ...(isCached && { isCached }),
    };
    if (from === undefined) return { output: note.output, ...seen };
    if ('output' in note) return { output: note.output, from, ...seen };
    const result = this.resultOf(from, note.node);
    return result && { ...observation(result.value, from, note.isShown), ...seen, from, isRecorded: true };
  }

  /**
   * The recorded result of a call.
   * @param node - of a child run: id of the node whose output it is, or of several; null if its artifacts are. Default: the node of the tool's name
   */
  resultOf(
    from: string,
    node: string | readonly string[] | null = toolOfName(from),
  ): { readonly value: unknown } | undefined {
    const { steps } = this.#read();
    const step = this.#namesOf(from).flatMap((name) => {
      const one = name === from || name.startsWith(`${from} answered `) ? steps.get(name) : undefined;
      return one?.status === 'done' ? [one] : [];
    });
    if (step.length > 0) return { value: step.at(-1)?.output };
    const child = this.#ctx.past.childOf(from);
    if (child === undefined) return undefined;
    if (typeof node === 'string' && !Object.hasOwn(child.outputs, node)) return undefined;
    return { value: resultAt(node, child) };
  }

  /** Counts all that is on record of a call as made. */
  pass(from: string): void {
    this.#ctx.past.pass(this.#namesOf(from));
  }

  /** Counts what a person was asked about a call as made. */
  passApproval(from: string): void {
    this.#ctx.past.pass(this.#approvalsOf(from));
  }

  /** Counts all that its tool has made as made, and closes what it asks. */
  abandon(from: string): void {
    const names = this.#namesOf(from).filter((name) => !name.startsWith(questionName(from)));
    this.#ctx.past.close(names);
    this.#ctx.past.pass(names);
  }

  /** Closes what a person was asked about a call, as changed. */
  closeApproval(from: string): void {
    const names = this.#approvalsOf(from);
    if (names.length === 0) return;
    this.#ctx.past.close(names);
    this.#ctx.past.pass(names);
  }

  #partsOf(from: string): readonly string[] {
    return this.#namesOf(from).filter((name) => name.startsWith(`${from} `));
  }

  #approvalsOf(from: string): readonly string[] {
    return this.#namesOf(from).filter((name) => name.startsWith(questionName(from)));
  }

  #namesOf(from: string): readonly string[] {
    return this.#read().names.get(from) ?? [];
  }

  #read(): Index {
    if (this.#index !== undefined) return this.#index;
    const { past } = this.#ctx;
    const names = new Map<string, string[]>();
    for (const name of past.names()) {
      const call = name.startsWith(approve) ? name.slice(approve.length) : name;
      const matched = call.startsWith(this.#prefix) ? owner.exec(call.slice(this.#prefix.length)) : null;
      if (matched === null) continue;
      const own = `${this.#prefix}${matched[0]}`;
      const known = names.get(own);
      if (known === undefined) names.set(own, [name]);
      else known.push(name);
    }
    const steps = new Map(past.steps().map((step) => [step.name, step]));
    return (this.#index = { steps, names });
  }
}
