/**
 * The column as an expression, so that SQLite's planner uses no index of it
 * (https://sqlite.org/optoverview.html, section 2). PostgreSQL's planner ignores the sign.
 */
export const withoutIndex = (column: string) => `+${column}`
