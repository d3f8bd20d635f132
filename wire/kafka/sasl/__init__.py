"""How clients show who they are (SASL): the mechanisms, the course of a login, and the gate before it is done."""
