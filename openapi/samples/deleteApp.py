import requests

key = "apps_YOUR_KEY"

response = requests.delete(
    "http://localhost:3000/apps/42",
    headers={"Authorization": f"Bearer {key}"},
    timeout=10,
)
response.raise_for_status()

answer = response.json()
print(answer["data"]["app_id"], answer["message"])
