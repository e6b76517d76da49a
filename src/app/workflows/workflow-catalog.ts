/** The workflows in the folders of a process. They are read on first use, and again on request. */
import { existsSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { readRegularText } from '../process/decode-text.ts';
import type { WorkflowText, WorkflowTexts } from '../../dialects/yaml/file/read-options.ts';
import { pipelineNameOf } from '../../dialects/dot/text/head.ts';
import { CairnError, commandText } from '../../errors.ts';
import type { Violation } from '../../graph/graph.ts';
import { nearestFirst } from '../../graph/nearest.ts';
import type { BrokenWorkflow, CheckedText, KnownWorkflow, Workflows } from '../../operations/contract/workflows.ts';
import { describe } from '../../operations/workflows/describe-workflow.ts';
import { isPipeline } from './text-reader.ts';
import type { ForeignTexts } from './foreign-texts.ts';
import { filesBeside, filesMax, findWorkflowFiles } from './find-workflow-files.ts';
import type { FileDialects } from './file-dialects.ts';

/** The most names listed in a hint. */
const hintedNames = 10;

export interface CatalogOptions {
  readonly dialect: FileDialects;
  /** Absolute paths. If two workflows have the same name, the one in the later folder is used. */
  readonly folders: readonly string[];
  /** Places in messages are relative to this folder. */
  readonly cwd: string;
  /** Reads texts that are no file of the operator's. Default: they are read here, without a bound on their time. */
  readonly foreign?: ForeignTexts;
}

interface Reading {
  readonly texts: ReadonlyMap<string, WorkflowText>;
  readonly broken: readonly BrokenWorkflow[];
}

function violation(place: string, message: string, fix: string): Violation {
  return { rule: 'D10', severity: 'error', place, message, fix };
}

/** The name that a text gives its workflow, found without parsing all of it. */
function nameOf(text: string, path: string): string | undefined {
  if (isPipeline(text, path)) return pipelineNameOf(text) || undefined;
  const match = /^name[ \t]*:[ \t]*(?:"([^"\\\n]*)"|'([^'\n]*)'|([^\s#'"|>&*!{[][^#\n]*?))[ \t]*(?:#.*)?\r?$/m.exec(
    text,
  );
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

class Catalog implements Workflows {
  readonly #options: CatalogOptions;
  #reading: Reading | undefined;
  readonly #known = new Map<string, KnownWorkflow>();
  #broken: readonly BrokenWorkflow[] | undefined;

  constructor(options: CatalogOptions) {
    this.#options = options;
  }

  list(): readonly KnownWorkflow[] {
    this.#compileAll();
    return [...this.#known.values()].toSorted((a, b) => (a.workflow.name < b.workflow.name ? -1 : 1));
  }

  broken(): readonly BrokenWorkflow[] {
    this.#compileAll();
    return this.#broken ?? [];
  }

  get(name: string): KnownWorkflow {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const text = this.#read().texts.get(name);
    if (text === undefined)
      throw new CairnError('WORKFLOW_NOT_FOUND', {
        name,
        ...(this.#names().length > 0 && { known: nearestFirst(name, this.#names()).slice(0, hintedNames) }),
      });
    const workflow = this.#options.dialect.readWorkflow(text.text, this.#optionsOf(text));
    const found = { workflow, source: text.source };
    this.#known.set(name, found);
    return found;
  }

  async readInline(text: string): ReturnType<Workflows['readInline']> {
    const { dialect, foreign } = this.#options;
    if (!dialect.allowsInline)
      throw new CairnError('PERMISSION_DENIED', {
        need: 'workflows given as texts',
        reason: 'they are not allowed here',
        grant: '--allow inline',
      });
    await foreign?.check(text);
    return dialect.readWorkflow(text, { ...dialect.options, workflows: this.texts, origin: 'inline' });
  }

  async describeText(text: string): Promise<CheckedText> {
    const { foreign } = this.#options;
    const checked = await foreign?.check(text);
    if (checked !== undefined && foreign?.isPartial === false) return checked;
    const { workflow, violations } = this.check(text);
    return { workflow: workflow === undefined ? undefined : describe(workflow), violations };
  }

  check(text: string, source?: string): ReturnType<Workflows['check']> {
    const { dialect } = this.#options;
    // A text that is no file of the operator's may name files; they are read only where that is granted.
    const named =
      source === undefined
        ? ({ origin: 'inline', workflows: this.texts } as const)
        : { source, workflows: this.#textsBeside(source) };
    return dialect.checkWorkflow(text, { ...dialect.options, ...named });
  }

  format(text: string, source: string): string {
    if (isPipeline(text, source)) return this.#options.dialect.dot.formatDot(text, source);
    throw new CairnError('USAGE_INVALID', {
      reason: `${source} is no pipeline: only DOT has a canonical form`,
      hint: 'Name a file that ends with .dot.',
    });
  }

  async convert(...[text, source, to]: Parameters<Workflows['convert']>): ReturnType<Workflows['convert']> {
    const { dialect, foreign } = this.#options;
    const { options, nodeTypes } = dialect;
    const name = source ?? 'workflow';
    const converted = source === undefined ? await foreign?.convert(text, to) : undefined;
    if (converted !== undefined && foreign?.isPartial === false) return converted;
    const from = isPipeline(text, name) ? 'dot' : 'yaml';
    if (to === 'cairn') return { ...dialect.convertWorkflow(text, { ...options, source: name }), notes: [] };
    if (from === to)
      throw new CairnError('USAGE_INVALID', {
        reason: `${name} is written in ${to} already`,
        hint: to === 'dot' ? `Run: ${commandText('fmt', name)}` : 'For a file with {{ }}, convert --to cairn.',
      });
    const workflow =
      source === undefined
        ? this.#readUngranted(text, name)
        : dialect.readWorkflow(text, { ...options, source, workflows: this.#textsBeside(source) });
    const { convertText } = await import('../../dialects/convert/convert-text.ts');
    return convertText({ text, source: name, workflow, from, nodeTypes }, to);
  }

  /** Reads a text that is not run: what its blocks need is granted or not when they are. */
  #readUngranted(text: string, name: string): KnownWorkflow['workflow'] {
    const { workflow, violations } = this.check(text);
    if (workflow === undefined) throw new CairnError('GRAPH_INVALID', { graphId: name, violations });
    return workflow;
  }

  reload(): ReturnType<Workflows['reload']> {
    this.#reading = undefined;
    this.#known.clear();
    this.#broken = undefined;
    this.#options.foreign?.reload();
    return { total: this.list().length, broken: this.broken() };
  }

  /** Workflows for blocks that run other workflows. */
  readonly texts: WorkflowTexts = {
    get: (name) => this.#read().texts.get(name),
    names: () => this.#names(),
  };

  /** Workflows for the blocks of a file, which finds those beside it too. */
  #textsBeside(source: string): WorkflowTexts {
    const { cwd } = this.#options;
    return textsBeside(dirname(resolve(cwd, source)), cwd, this.texts);
  }

  #names(): readonly string[] {
    return [...this.#read().texts.keys()].sort();
  }

  #optionsOf({ source }: WorkflowText): Parameters<FileDialects['readWorkflow']>[1] {
    return { ...this.#options.dialect.options, workflows: this.texts, source };
  }

  #read(): Reading {
    return (this.#reading ??= readFolders(this.#options));
  }

  #compileAll(): void {
    if (this.#broken !== undefined) return;
    const { texts, broken } = this.#read();
    const found = [...broken];
    for (const [name, text] of texts) {
      const { workflow, violations } = this.#options.dialect.checkWorkflow(text.text, this.#optionsOf(text));
      if (workflow === undefined) found.push({ source: text.source, violations });
      else this.#known.set(name, { workflow, source: text.source });
    }
    this.#broken = found;
  }
}

function readFolders({ folders, cwd }: CatalogOptions): Reading {
  const texts = new Map<string, WorkflowText>();
  const broken: BrokenWorkflow[] = [];
  const sourceOf = (path: string): string => sourceFrom(cwd, path);
  for (const folder of folders) {
    const { files, isCut, unreadable } = findWorkflowFiles(folder);
    const refuse = (path: string, message: string, fix: string): void =>
      void broken.push({ source: sourceOf(path), violations: [violation(sourceOf(path), message, fix)] });
    const own = new Map<string, WorkflowText>();
    for (const path of files) {
      const source = sourceOf(path);
      const read = readText(path);
      const name = read.text === undefined ? undefined : nameOf(read.text, path);
      const other = name === undefined ? undefined : own.get(name);
      if (read.text === undefined) refuse(path, read.fault, 'make it readable, or move it out of the folder');
      else if (name === undefined)
        refuse(path, 'it names no workflow', 'begin it with `name: …` on a line of its own, or `digraph NAME {`');
      else if (other !== undefined)
        refuse(path, `${other.source} has the name ${name} too`, 'give one of them another name');
      else own.set(name, { text: read.text, source });
    }
    for (const path of unreadable) refuse(path, 'the folder cannot be read', 'make it readable');
    if (isCut) refuse(folder, `only ${filesMax} files are read, to a depth of 32`, 'give the folders below it');
    for (const [name, text] of own) texts.set(name, text);
  }
  return { texts, broken };
}

function readText(path: string): { readonly text: string } | { readonly text?: undefined; readonly fault: string } {
  try {
    return { text: readRegularText(path) };
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** A path for people and for records: relative to the working folder if it is below it, else absolute. */
export function sourceFrom(cwd: string, path: string): string {
  const below = relative(cwd, path);
  return below.startsWith('..') || below === '' ? path : below.replaceAll('\\', '/');
}

/** Adds the workflows in a file's own folder, which win over those of the catalog. */
export function textsBeside(folder: string, cwd: string, rest: WorkflowTexts): WorkflowTexts {
  let beside: Map<string, WorkflowText> | undefined;
  const read = (): Map<string, WorkflowText> => {
    const found = new Map<string, WorkflowText>();
    // What is named may be no file, and its folder need not be there.
    for (const path of existsSync(folder) ? filesBeside(folder) : []) {
      const { text } = readText(path);
      const name = text === undefined ? undefined : nameOf(text, path);
      if (text !== undefined && name !== undefined && !found.has(name))
        found.set(name, { text, source: sourceFrom(cwd, path) });
    }
    return found;
  };
  const ours = (): Map<string, WorkflowText> => (beside ??= read());
  return {
    get: (name) => ours().get(name) ?? rest.get(name),
    names: () => [...new Set([...ours().keys(), ...rest.names()])].sort(),
  };
}

export interface WorkflowCatalog extends Workflows {
  readonly texts: WorkflowTexts;
}

/** Opens the catalog. @throws CONFIG_INVALID a folder cannot be read */
export function openCatalog(options: CatalogOptions): WorkflowCatalog {
  for (const folder of options.folders)
    if (!isFolder(folder))
      throw new CairnError('CONFIG_INVALID', {
        path: '--workflows',
        reason: `${folder} is no folder that can be read`,
      });
  return new Catalog(options);
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
