/**
 * Limits that hold for all workers of a store together: places, rates, and lines that are fair. The entry point `cairn-workflows/limits`.
 * Guide: docs/guide/limits-and-rates.md.
 */
export { defineLimit, type Limit, type LimitOptions, type LimitRef, type LimitSubject } from './graph/limit.ts';
