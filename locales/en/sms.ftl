### SMS in English: short, and in letters that fit into one message of 160.

sign-in-code = Use { $code } to sign in at { $host }. Give it to no one.
verify-phone-code = Use { $code } at { $host } to confirm this number. Give it to no one.
approval = An application asks for your approval at { $host }: { $link }
test = A test from { $host }: SMS arrive here.
