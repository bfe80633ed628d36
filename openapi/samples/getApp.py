import requests

url = "http://localhost:3000/apps/42"

response = requests.get(url, timeout=10)
response.raise_for_status()

app = response.json()["data"]["app"]
print(app["name"], app["average_rating"])
for review in app["reviews"]:
    print(review["rating"], review["comment"])
