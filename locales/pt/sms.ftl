### Os SMS em português: curtos e com letras que cabem numa só mensagem de 160.

sign-in-code = Use { $code } para entrar em { $host }. Guarde-o para si.
verify-phone-code = Use { $code } em { $host } para confirmar este telefone. Guarde-o para si.
approval = Uma aplicação pede uma aprovação em { $host }: { $link }
test = Um teste de { $host }: os SMS chegam aqui.
