/** Options that select workflow folders and the permissions of workflows given as text. */
import type { Field } from '../operations/declare/operation.ts';

export const workflowsField: Field = {
  type: 'texts',
  description: 'folders of workflows, later ones override earlier ones; default: the configuration, else workflows',
};

export const allowField: Field = {
  type: 'texts',
  description:
    'what workflows given as texts may reach for: inline, shell, net=HOST, fs=/FOLDER, env=NAME, model=NAME, sqlite; default: the configuration, else nothing',
};
