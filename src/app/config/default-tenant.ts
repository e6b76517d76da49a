/** The tenant of programs that do not choose one. */
export const defaultTenant = 'default';
