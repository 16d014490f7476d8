"""Shell lines: read strictly, taken apart into simple commands, matched against rules."""
