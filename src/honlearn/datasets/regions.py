"""The standard federal regions of the United States: the node classes of the flight data.

In: a state's postal abbreviation. Out: its region, ``"1"`` to ``"10"``, or ``"US-terr"`` for a territory.
"""

from __future__ import annotations

TERRITORY = "US-terr"

STATES = {
    "1": "CT ME MA NH RI VT",
    "2": "NJ NY",
    "3": "DE DC MD PA VA WV",
    "4": "AL FL GA KY MS NC SC TN",
    "5": "IL IN MI MN OH WI",
    "6": "AR LA NM OK TX",
    "7": "IA KS MO NE",
    "8": "CO MT ND SD UT WY",
    "9": "AZ CA HI NV",
    "10": "AK ID OR WA",
    # The regions proper put the Caribbean with New York and the Pacific with California; by the flights
    # they are places of their own. TT is what the airline survey writes for the Pacific territories.
    TERRITORY: "PR VI GU AS MP TT",
}

NAMES = {
    "1": "Boston",
    "2": "New York",
    "3": "Philadelphia",
    "4": "Atlanta",
    "5": "Chicago",
    "6": "Dallas",
    "7": "Kansas City",
    "8": "Denver",
    "9": "San Francisco",
    "10": "Seattle",
    TERRITORY: "territories",
}
"""What regions are called: the cities of their offices."""

_REGION = {state: region for region, states in STATES.items() for state in states.split()}


def federal_region(state: str) -> str | None:
    """Return the federal region of a state or territory by its abbreviation; None for any other place.

    >>> federal_region("GA"), federal_region("PR"), federal_region("ON")
    ('4', 'US-terr', None)
    """
    return _REGION.get(state)
