/**
 * Work that writes much does it in turns, so that others write between them: a transaction goes on for so long, and then the
 * lock is left alone for longer than SQLite lets a writer that waits for it sleep, 100 ms
 * (https://sqlite.org/src/file/src/main.c, sqliteDefaultBusyCallback). In milliseconds. Much shorter ones would cost more,
 * since every commit writes each page that it touched.
 */
export const maxTransactionTime = 1000
export const pauseBetweenTransactions = 110
