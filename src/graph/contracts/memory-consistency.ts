/** How reads and writes of a memory over sessions go together with runs that are resumed and forked (A43). */

/**
 * How a run's reads and writes relate to its history. In every mode a run's write happens once, however often the run is killed.
 * - `live`: each attempt reads the current memory.
 * - `snapshot`: reads are recorded, so a resume and a fork see what the run saw. Writes are not recorded, so a fork makes them again.
 * - `journaled`: writes are recorded too, and a fork takes them over.
 */
export type MemoryConsistency = 'live' | 'snapshot' | 'journaled';

export const memoryConsistencies: readonly MemoryConsistency[] = ['live', 'snapshot', 'journaled'];
