/** Finds workflow files below a folder, sorted by path, whatever the order on disk. */
import { readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The most files in one folder. Further ones are omitted, and that is reported. */
export const filesMax = 10_000;
const depthMax = 32;
const skipped: ReadonlySet<string> = new Set(['node_modules']);

export interface FoundFiles {
  /** Paths of the files; they begin with the folder as the caller wrote it. */
  readonly files: readonly string[];
  /** Whether there are more files, or folders nested too deep to be searched. */
  readonly isCut: boolean;
  /** Folders that cannot be read. */
  readonly unreadable: readonly string[];
}

export function isWorkflowFile(name: string): boolean {
  return /\.(?:ya?ml|dot|gv)$/i.test(name);
}

/** Whether a path is a folder or a file, following links; undefined if it is neither. */
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
  /** Real paths of the folders searched so far, so that links back to them are not followed again. */
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
 * Finds workflow files. Hidden folders and `node_modules` are skipped, and links are followed once.
 * @throws the file system's errors for the folder itself
 */
export function findWorkflowFiles(folder: string): FoundFiles {
  const search = new Search();
  search.walk(folder, 0);
  return search;
}

/** The workflow files in one folder, without its subfolders. */
export function filesBeside(folder: string): readonly string[] {
  return readdirSync(folder)
    .sort()
    .filter((name) => isWorkflowFile(name))
    .slice(0, filesMax)
    .map((name) => join(folder, name));
}
