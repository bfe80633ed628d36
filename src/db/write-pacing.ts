/**
 * Long writes run as several transactions, so that others write between them. Milliseconds: how long each lasts, and the pause
 * after it, which exceeds the 100 ms that a waiting SQLite writer may sleep
 * (https://sqlite.org/src/file/src/main.c, sqliteDefaultBusyCallback). Shorter transactions would write more pages in all.
 */
export const maxTransactionTime = 1000
export const pauseBetweenTransactions = 110
