import os
import requests

url = f"{os.environ['BASE_URL']}/apps/42"

response = requests.get(url, timeout=10)
response.raise_for_status()

app = response.json()["data"]["app"]
print(app["name"], app["average_rating"])
for review in app["reviews"]:
    print(review["rating"], review["comment"])
