"""The problems: data, answer, objective, proof. The one room that knows kinds."""
