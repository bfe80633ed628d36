curl "$BASE_URL/apps/42"
