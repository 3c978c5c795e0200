"""Write the keywords of every model, from the estimators, to src/honlearn/experiments/data/keywords.json."""

from __future__ import annotations

import json
from pathlib import Path

from honlearn.experiments import keywords

if __name__ == "__main__":
    target = Path(keywords.__file__).parent / keywords.FILE
    target.write_text(json.dumps(keywords.make(), indent=1) + "\n")
    print(target)
