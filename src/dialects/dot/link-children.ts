/**
 * Reads the pipelines that stages run, under the same grants. One that is missing, has faults or runs itself is reported with its place.
 */
import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import type { Violation } from '../../graph/graph.ts';
import type { Need } from '../../graph/contracts/node-type.ts';
import type { TextWorkflow } from '../text-workflow.ts';
import { type Around, childType, folderIn, type Pipeline, type Stage } from './model/pipeline.ts';
import type { DotFaults } from './text/faults.ts';

/** Most levels of pipelines that run pipelines. */
const depthMax = 32;

/** The result of reading one child pipeline. */
interface ReadChild {
  readonly workflow: TextWorkflow | undefined;
  readonly violations: readonly Violation[];
  /** The text that is recorded with the run: of this pipeline, and by path of those that it runs. */
  readonly savedText?: string;
  readonly files?: ReadonlyMap<string, string>;
}

export interface ChildReading {
  readonly pipeline: Pipeline;
  readonly faults: DotFaults;
  /** Path of the file that names them. */
  readonly source: string;
  readonly around: Around;
  /** Returns the text at a path, or undefined if there is none. `isGranted` is called with where the file really is. */
  readonly read: (path: string, isGranted?: (place: string) => boolean) => string | undefined;
  /** Whether a file may be read; undefined: all may, or none needs to be, since the texts are saved. */
  readonly withheld: ((need: Need) => string | undefined) | undefined;
  readonly check: (text: string, around: Around, path: string) => ReadChild;
}

/** The pipelines that stages run, by stage, and the texts of all of them, by path. */
export interface LinkedChildren {
  readonly byStage: ReadonlyMap<string, TextWorkflow>;
  readonly files: ReadonlyMap<string, string>;
}

export function linkChildren(stages: Pipeline['stages'], reading: ChildReading): LinkedChildren {
  const byStage = new Map<string, TextWorkflow>();
  const files = new Map<string, string>();
  for (const stage of stages.values()) {
    const found = stage.type === childType ? readChild(reading, stage) : undefined;
    if (found === undefined) continue;
    byStage.set(stage.id, found.workflow);
    for (const [path, text] of found.files) files.set(path, text);
  }
  return { byStage, files };
}

const attribute = 'stack.child_dotfile';
const workdir = 'stack.child_workdir';

function readChild(
  { pipeline, faults, source, around, read, withheld, check }: ChildReading,
  stage: Stage,
): { readonly workflow: TextWorkflow; readonly files: ReadonlyMap<string, string> } | undefined {
  const { chain } = around;
  const own = stage.attributes.text(attribute);
  const named = own || pipeline.attributes.text(attribute);
  const at = own === '' && named !== '' ? pipeline.attributes.placeOf(attribute) : stage.attributes.placeOf(attribute);
  const refuse = (message: string, fix: string, rule = 'child_pipeline'): undefined => {
    faults.add(at, { rule, message, fix });
  };
  if (named === '') return refuse(`${stage.id} names no pipeline to run`, `give it, or the graph, a ${attribute}`);
  /** What no parameter here is called, only the context can give, and that is not known before a run. */
  const warnOfMissing = ({ inputs }: TextWorkflow): void => {
    const missing = inputs.filter(
      ({ name, isRequired }) => isRequired && !pipeline.params.some((own) => own.name === name),
    );
    if (missing.length === 0) return;
    const names = missing.map(({ name }) => name).join(', ');
    const message = `${path} needs ${names}, and no parameter here has that name`;
    const fix =
      'give this pipeline such a parameter, or the other a default, or see that a stage before puts it in the context';
    faults.add(at, { rule: 'child_pipeline', message, fix, severity: 'warning' });
  };
  const path = isAbsolute(named) ? normalize(named) : join(source === 'inline' ? '' : dirname(source), named);
  if (chain.includes(path))
    return refuse(`pipelines run each other in a circle: ${[...chain, path].join(' -> ')}`, 'take one of them out');
  if (chain.length > depthMax)
    return refuse(`pipelines run each other over ${depthMax} deep`, 'run fewer of them from each other');
  const refusal = withheld?.({ kind: 'fs', path: resolve(path) });
  if (refusal !== undefined) return refuse(`${stage.id} is not allowed: ${refusal}`, 'grant it, or take it out', 'Y6');
  const text = read(path, withheld && ((place) => withheld({ kind: 'fs', path: place }) === undefined));
  if (text === undefined)
    return refuse(
      `there is no pipeline ${path}`,
      'correct the path, which begins at the folder of this file; it leads to a file in UTF-8',
    );
  const folder = folderIn(around.folder, stage.attributes.text(workdir) || pipeline.attributes.text(workdir));
  const inner: Around = {
    chain: [...chain, path],
    folder,
    isSteered: around.isSteered || stage.attributes.text('manager.actions').includes('steer'),
    isCalled: around.isCalled,
  };
  const { workflow, violations, savedText: kept = text, files = new Map<string, string>() } = check(text, inner, path);
  if (workflow !== undefined) {
    warnOfMissing(workflow);
    return { workflow, files: new Map([[path, kept], ...files]) };
  }
  const errors = violations.filter(({ severity }) => severity === 'error');
  // What it lacks is a grant: nothing in it is to be corrected.
  if (errors.every(({ rule }) => rule === 'Y6')) {
    faults.take(errors);
    return undefined;
  }
  const [first] = errors;
  const count = `${errors.length} fault${errors.length === 1 ? '' : 's'}`;
  return refuse(
    `the pipeline ${path} has ${count}: ${first?.place ?? ''}: ${first?.message ?? ''}`,
    'correct it first',
  );
}
