### SMS in English: short, and in letters that fit into one message of 160.

sign-in-code = Use { $code } to sign in at { $host }. Give it to no one.
verify-phone-code = Use { $code } at { $host } to confirm this number. Give it to no one.
test = A test from { $host }: SMS arrive here.
