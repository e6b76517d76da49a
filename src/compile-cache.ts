/**
 * Keeps compiled code on disk between starts of a program, with Node's compile cache:
 * `node --import cairn-workflows/compile-cache app.ts`.
 *
 * Opt-in, because it is a setting of the whole process and writes to a folder: the one in `NODE_COMPILE_CACHE`, or else one of Node's in
 * the
 * folder for temporary files. Import it before everything else, by `--import` or before an `await import()` of the program: static imports
 * beside it are compiled before it runs.
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();
