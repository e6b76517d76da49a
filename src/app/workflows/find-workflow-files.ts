/** The files of workflows below a folder: in the order of their paths, whatever order the disk gives them in. */
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Files that one folder may hold; what is beyond is left out, and said so. */
export const filesMax = 10_000;
/** A file that is larger is not read. */
export const fileBytesMax: number = 5 * 1024 * 1024;
const depthMax = 32;
const skipped: ReadonlySet<string> = new Set(['node_modules']);

export interface FoundFiles {
  /** Paths that begin with the folder as it was given. */
  readonly files: readonly string[];
  /** Whether there are more, or folders nested deeper than is looked. */
  readonly isCut: boolean;
  /** Folders below it that cannot be read. */
  readonly unreadable: readonly string[];
}

export function isWorkflowFile(name: string): boolean {
  return /\.(?:ya?ml|dot|gv)$/i.test(name);
}

/** Whether a path is a folder or a file, links followed; undefined: it is not there, or something else. */
function kindOf(path: string): 'folder' | 'file' | undefined {
  try {
    const stat = statSync(path);
    return stat.isDirectory() ? 'folder' : stat.isFile() ? 'file' : undefined;
  } catch {
    return undefined;
  }
}

class Search {
  readonly files: string[] = [];
  isCut = false;
  readonly unreadable: string[] = [];
  /** Real paths of the folders walked: a link back to one of them leads nowhere new. */
  readonly #walked = new Set<string>();

  walk(folder: string, depth: number): void {
    if (depth > depthMax) {
      this.isCut = true;
      return;
    }
    const real = realpathSync(folder);
    if (this.#walked.has(real)) return;
    this.#walked.add(real);
    for (const name of readdirSync(folder).sort()) {
      if (name.startsWith('.') || skipped.has(name)) continue;
      const path = join(folder, name);
      const kind = kindOf(path);
      if (kind === 'folder') this.#walkBelow(path, depth + 1);
      else if (kind === 'file' && isWorkflowFile(name)) this.#take(path);
    }
  }

  #walkBelow(folder: string, depth: number): void {
    try {
      this.walk(folder, depth);
    } catch {
      this.unreadable.push(folder);
    }
  }

  #take(path: string): void {
    if (this.files.length < filesMax) this.files.push(path);
    else this.isCut = true;
  }
}

/**
 * Hidden folders and `node_modules` are passed over, links are followed once.
 * @throws the file system's errors, for the folder itself
 */
export function findWorkflowFiles(folder: string): FoundFiles {
  const search = new Search();
  search.walk(folder, 0);
  return search;
}

/** The files of workflows in one folder, without those below it. */
export function filesBeside(folder: string): readonly string[] {
  return readdirSync(folder)
    .sort()
    .filter((name) => isWorkflowFile(name))
    .slice(0, filesMax)
    .map((name) => join(folder, name));
}
