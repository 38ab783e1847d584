"""The search of toulbar2, whose library knows one problem a process, in a process of its own."""
