"""The results of tools in the pictures of docs/renditions.md, one for each content type. All of them are synthetic."""

import json
from typing import NamedTuple

CODE = '''"""Invoices: what a customer owes, and when it is due."""

import logging
from datetime import date, timedelta
from decimal import Decimal

from billing.rates import RateTable
from billing.store import InvoiceStore

log = logging.getLogger(__name__)
GRACE_DAYS = 14


class InvoiceService:
    """Issues invoices and follows them until they are paid."""

    def __init__(self, store: InvoiceStore, rates: RateTable) -> None:
        self.store = store
        self.rates = rates

    # An invoice is issued once a month, whatever was used.
    def issue(self, customer_id: str, used: dict[str, int]) -> str:
        total = Decimal(0)
        for product, amount in used.items():
            price = self.rates.price_of(product)
            if price is None:
                log.warning("no price for %s, it is left out", product)
                continue
            total += price * amount
        due = date.today() + timedelta(days=GRACE_DAYS)
        return self.store.insert(customer_id, total, due)

    def remind(self, today: date) -> list[str]:
        late = []
        for invoice in self.store.open_invoices():
            if invoice.due_date < today:
                late.append(invoice.customer_id)
                self.store.mark_reminded(invoice.id, today)
        return late


def round_to_cents(amount: Decimal) -> Decimal:
    """The amount as it is printed on an invoice."""
    cents = amount.quantize(Decimal("0.01"))
    return cents if cents else Decimal("0.00")
'''

LOG = "\n".join(
    [
        "======================= test session starts ========================",
        "platform linux -- Python 3.12.3, pytest-8.3.2, pluggy-1.5.0",
        "rootdir: /srv/billing",
        "collected 48 items",
        "",
        *(f"tests/test_rates.py::test_price_{n:02} PASSED" for n in range(1, 21)),
        *(f"tests/test_store.py::test_insert_{n:02} PASSED" for n in range(1, 19)),
        "tests/test_invoices.py::test_issue PASSED",
        "tests/test_invoices.py::test_unknown_product PASSED",
        "tests/test_invoices.py::test_remind_late_customers FAILED",
        *(f"tests/test_invoices.py::test_round_to_cents_{n} PASSED" for n in range(1, 8)),
        "",
        "============================= FAILURES =============================",
        "    def test_remind_late_customers(service, clock):",
        "        service.issue('c-1041', {'storage_gb': 3})",
        ">       assert service.remind(clock.in_days(15)) == ['c-1041']",
        "E       AssertionError: assert [] == ['c-1041']",
        "tests/test_invoices.py:57: AssertionError",
        "===================== short test summary info ======================",
        "FAILED tests/test_invoices.py::test_remind_late_customers",
        "=================== 1 failed, 47 passed in 3.18s ===================",
    ]
)

DIFF = """diff --git a/src/billing/invoices.py b/src/billing/invoices.py
index 4f1c2aa..9b07d31 100644
--- a/src/billing/invoices.py
+++ b/src/billing/invoices.py
@@ -24,19 +24,19 @@ class InvoiceService:
         total = Decimal(0)
         for product, amount in used.items():
             price = self.rates.price_of(product)
             if price is None:
                 log.warning("no price for %s, it is left out", product)
                 continue
             total += price * amount
-        due = date.today() + timedelta(days=GRACE_DAYS)
+        due = self.clock.today() + timedelta(days=GRACE_DAYS)
         return self.store.insert(customer_id, total, due)

     def remind(self, today: date) -> list[str]:
         late = []
         for invoice in self.store.open_invoices():
-            if invoice.due_date < today:
+            if invoice.due_date <= today:
                 late.append(invoice.customer_id)
                 self.store.mark_reminded(invoice.id, today)
         return late

diff --git a/tests/test_invoices.py b/tests/test_invoices.py
index 77d0e14..c25ab90 100644
--- a/tests/test_invoices.py
+++ b/tests/test_invoices.py
@@ -49,7 +49,8 @@ def service(store, rates):
 @pytest.fixture
 def service(store, rates, clock):
     store.clear()
     rates.load("2026-01")
-    return InvoiceService(store, rates)
+    assert rates.price_of("storage_gb")
+    return InvoiceService(store, rates, clock)

 def test_remind_late_customers(service, clock):
     service.issue("c-1041", {"storage_gb": 3})
     assert service.remind(clock.in_days(15)) == ["c-1041"]
"""

SEARCH = "\n".join(
    f"{path}:{line}:{text}"
    for path, matches in {
        "src/billing/invoices.py": [
            (7, "from billing.rates import RateTable"),
            (17, "    def __init__(self, store: InvoiceStore, rates: RateTable) -> None:"),
            (
                25,
                "            price = rates.price_of(product)",
            ),
        ],
        "src/billing/rates.py": [
            (12, "class RateTable:"),
            (31, '        """A RateTable from the file of a month."""'),
            (44, "def merged(old: RateTable, new: RateTable) -> RateTable:"),
            (52, "    return RateTable({**old.prices, **new.prices})"),
        ],
        "src/billing/api/routes.py": [
            (9, "from billing.rates import RateTable"),
            (63, "def get_rates() -> RateTable:"),
            (64, "    return RateTable.of_month(current_month())"),
        ],
        "tests/test_rates.py": [
            (n, f"    assert RateTable(prices_{n}).price_of('cpu_hours')") for n in range(20, 36, 2)
        ],
        "tests/conftest.py": [(4, "from billing.rates import RateTable"), (28, "def rates() -> RateTable:")],
    }.items()
    for line, text in matches
)

JSON = json.dumps(
    {
        "page": 1,
        "total": 24,
        "invoices": [
            {
                "id": f"inv-{2040 + n}",
                "customer_id": f"c-{1030 + n % 7}",
                "currency": "EUR",
                "total": f"{12 + 7 * n}.50",
                "state": "paid" if n % 5 else "open",
                "error": "card_declined" if n == 15 else None,
            }
            for n in range(24)
        ],
    }
)

LISTING = "\n".join(
    [f"src/billing/{name}.py" for name in "__init__ clock invoices rates reminders store taxes".split()]
    + [f"src/billing/api/{name}.py" for name in "__init__ app errors routes schemas".split()]
    + [
        f"src/billing/migrations/{n:04}_{what}.sql"
        for n, what in enumerate("customers invoices rates due index".split())
    ]
    + [f"tests/test_{name}.py" for name in "api clock invoices migrations rates reminders store taxes".split()]
    + [f"tests/data/rates-2026-{month:02}.csv" for month in range(1, 13)]
    + ["docs/rates.md", "docs/reminders.md", "pyproject.toml", "README.md"]
)

MARKUP = """# Reminders

A reminder goes to every customer with an invoice that is late. The job
`send_reminders` runs each night at 02:00.

## Which invoices are late

An invoice is late on the day after its due date. Days are those of the
customer's own time zone, as it stands in `customers.time_zone`; customers
without one are treated as if they lived in UTC, which is wrong for about
a tenth of them.

- `open` and `partly_paid` invoices count, `disputed` ones do not.
- Nobody is reminded twice within seven days (`REMINDER_PAUSE_DAYS`).

## What is sent

The template is `templates/reminder.html`. It shows the invoice, what is
owed, and a link that pays it at once. The link is signed with
`PAYMENT_LINK_KEY` and works for thirty days; after that the customer has
to log in, and many write to us instead.

## When it goes wrong

Bounced mails come back to `POST /hooks/bounces` and mark the customer as
`unreachable`. After three of them a task is opened for the support team.
The job itself is restarted by the scheduler, and is safe to run twice,
because every reminder is written down in `reminders_sent` before the mail
goes out.
"""

PROSE = (
    "The reminders went out twice on Monday because the job was started by both schedulers. "
    "Nobody had expected that, since the old scheduler was believed to be switched off. "
    "It was switched off in the configuration, but one of its hosts had not been restarted for months. "
    "About four hundred customers received the same reminder twice within a minute. "
    "Most of them did not seem to mind. "
    "Eleven wrote to the support team, and three of those had already paid their invoice. "
    "The reminders themselves were correct, so no invoice had to be changed. "
    "The job now takes a lock in the database before it sends any reminders, and it gives the lock back at the end. "
    "If the lock is taken, the job says so in its log and stops. "
    "We also looked at the other jobs of the old scheduler, and found that none of them had run since spring. "
    "The host was restarted in the afternoon. "
    "It would have been easy to notice earlier, had anybody looked at the list of hosts. "
    "There is now a check for hosts that have not been restarted for thirty days. "
    "Please tell the support team that reminders are sent once again, and only once."
)

UNKNOWN = "\n".join(
    ["%!PS 00 7f 45 4c >> begin"]
    + [
        f"<< {n:04x} {(n * 7919) % 65521:04x} {(n * 104729) % 65521:04x} >> ^^ {n % 16:x}{n % 7:x} ~~ ||"
        for n in range(40)
    ]
    + ["%%EOF >> 41 rows ^^"]
)


class Sample(NamedTuple):
    """A result, and the call that brought it."""

    tool: str
    arguments: dict[str, str]
    text: str
    is_error: bool = False


SAMPLES = {
    "code": Sample("read", {"path": "src/billing/invoices.py"}, CODE),
    "log": Sample("bash", {"command": "pytest -v"}, LOG, is_error=True),
    "diff": Sample("bash", {"command": "git diff"}, DIFF),
    "search": Sample("grep", {"pattern": "RateTable"}, SEARCH),
    "json": Sample("list_invoices", {"page": "1"}, JSON),
    "listing": Sample("bash", {"command": "git ls-files"}, LISTING),
    "markup": Sample("read", {"path": "docs/reminders.md"}, MARKUP),
    "prose": Sample("read_mail", {"id": "m-31"}, PROSE),
    "unknown": Sample("dump", {}, UNKNOWN),
}
