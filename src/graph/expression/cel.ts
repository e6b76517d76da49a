/** The library that reads and evaluates expressions in CEL: a module of its own, which commands load only when they meet an expression. */
export { Environment } from '@marcbachmann/cel-js';
