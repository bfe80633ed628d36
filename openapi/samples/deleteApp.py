import os
import requests

key = os.environ["API_KEY"]

response = requests.delete(
    f"{os.environ['BASE_URL']}/apps/42",
    headers={"Authorization": f"Bearer {key}"},
    timeout=10,
)
response.raise_for_status()

answer = response.json()
print(answer["data"]["app_id"], answer["message"])
