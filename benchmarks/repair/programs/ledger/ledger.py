"""Bank accounts with amounts in whole cents."""


class Ledger:
    """Accounts by name and the history of what happened. Starts empty.

    Every amount must be above 0, else ValueError "amount must be positive".
    An account must be open, else KeyError with its name. What fails changes nothing.
    """

    def __init__(self):
        self._balances = {}
        self.history = []

    def open(self, name, overdraft=0):
        """Open an account at 0 that may go down to -overdraft. ValueError if it is open already."""
        if name in self._balances:
            raise ValueError(f"account exists: {name}")
        self._balances[name] = [0, overdraft]

    def balance(self, name):
        """The balance of an account."""
        return self._balances[name][0]

    def _check(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")

    def deposit(self, name, amount):
        """Add to an account; the history gets ("deposit", name, amount)."""
        self._check(amount)
        self._balances[name][0] += amount
        self.history.append(("deposit", name, amount))

    def withdraw(self, name, amount):
        """Take from an account; the history gets ("withdraw", name, amount).

        ValueError "insufficient funds" if the balance would fall below -overdraft.
        """
        self._check(amount)
        balance, overdraft = self._balances[name]
        if balance + overdraft < amount:
            raise ValueError("insufficient funds")
        self._balances[name][0] = balance - amount
        self.history.append(("withdraw", name, amount))

    def transfer(self, source, target, amount):
        """Withdraw from ``source``, then deposit to ``target``: two entries. ValueError if they are the same."""
        if source == target:
            raise ValueError("same account")
        if target not in self._balances:
            raise KeyError(target)
        self.withdraw(source, amount)
        self.deposit(target, amount)

    def total(self):
        """The sum of all balances."""
        return sum(balance for balance, _ in self._balances.values())

    def statement(self, name):
        """The account's balance after each of its entries, the oldest first."""
        running = 0
        lines = []
        for kind, account, amount in self.history:
            if account == name:
                running += amount if kind == "deposit" else -amount
                lines.append(running)
        return lines
