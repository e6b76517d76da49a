/** The configuration of the example: `cairn run examples/repo-review/graph.ts --config examples/repo-review/cairn.config.ts`. */
import { chooseModels } from './models.ts';

const { REVIEW_MODEL: model } = process.env;

// eslint-disable-next-line import/no-default-export -- what a configuration is
export default { models: chooseModels(model === '' ? undefined : model) };
