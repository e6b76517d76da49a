/**
 * Keeps compiled code on disk between starts of a program, by Node's own compile cache: `node --import cairn-workflows/compile-cache app.ts`.
 *
 * Opt-in, since it is a setting of the whole process and writes to a folder: `NODE_COMPILE_CACHE` names it, else Node takes one for
 * temporary files. What is imported statically beside this module is compiled before it runs, so it is imported first of all, by
 * `--import` or before an `await import()` of the program.
 */
import { enableCompileCache } from 'node:module';

enableCompileCache();
