curl "http://localhost:3000/apps/42"
