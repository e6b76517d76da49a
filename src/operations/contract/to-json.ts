/** Values of a run as plain JSON, for the doors, which do not know `state` themselves. */
export { toJson } from '../../state/values/to-json.ts';
