import sys
import requests

url = "http://localhost:3000/apps"
query = {"search": "tide"}

while url:
    page = requests.get(url, query, timeout=10)
    body = page.json()
    if not body["success"]:
        sys.exit(body["message"])
    for app in body["data"]["apps"]:
        print(app["id"], app["name"])

    # The URL of the next page already has the query.
    url = page.links.get("next", {}).get("url")
    query = None
