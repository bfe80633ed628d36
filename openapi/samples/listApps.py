import sys
import requests

url = "http://localhost:3000/apps"
query = {"search": "tide"}

while url:
    page = requests.get(url, query, timeout=10)
    answer = page.json()
    if not answer["success"]:
        sys.exit(answer["message"])
    for app in answer["data"]["apps"]:
        print(app["id"], app["name"])

    # The next page's address has the query in it.
    url = page.links.get("next", {}).get("url")
    query = None
